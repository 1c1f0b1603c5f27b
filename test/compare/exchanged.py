#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""exchanged.py INTERLEAVE: whoever owns the directory in which benchmark/compare/interleave makes its files exchanges the
one that it has just made there, for a link to a victim's directory, and for a directory that is not empty. The files
there stay as they are."""
import os, pathlib, stat, subprocess, sys, tempfile

# Runs before the program: whatever it makes is exchanged at once.
EXCHANGE = """
import os, tempfile
make = tempfile.mkdtemp
def exchanged(*arguments, **named):
    made = make(*arguments, **named)
    os.rename(made, made + ".aside")
    if os.environ["EXCHANGED_FOR"] == "link":
        os.symlink(os.environ["VICTIM"], made)
    elif os.environ["EXCHANGED_FOR"] == "directory":
        os.rename(os.environ["VICTIM"], made)
    else:
        os.rename(made + ".aside", made)
    return made
tempfile.mkdtemp = exchanged
"""
COMPETITOR = """#!/bin/sh
head -c 8 "$1" >/dev/null && echo ready
while read -r operations; do echo 1 1 1 1 1; done
"""


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(stat.S_IRWXU)


def run(program, exchanged_for):
    """What the victim's file holds then, the exit status, and what is left in the directory."""
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(name)
        put(here / "programs/read_4k/pread", COMPETITOR)
        put(here / "victim/read_4k", "precious")
        (here / "victim").chmod(0o700)
        (here / "stranger").mkdir()
        put(here / "site/sitecustomize.py", EXCHANGE)
        environment = dict(os.environ, PYTHONPATH=str(here / "site"), VICTIM=str(here / "victim"),
                           EXCHANGED_FOR=exchanged_for)
        ended = subprocess.run([sys.executable, program, here / "stranger", "--programs", here / "programs", "--smoke",
                                "--workloads", "read_4k"], env=environment, capture_output=True, text=True)
        found = [each.read_text(errors="replace") for each in here.rglob("read_4k") if each.is_file()]
        return found, ended, os.listdir(here / "stranger")


failures = 0
for exchanged_for in ("link", "directory", "nothing"):
    found, ended, left = run(sys.argv[1], exchanged_for)
    is_right = found == ["precious"] and (
        ended.returncode == 0 and not left if exchanged_for == "nothing" else "somebody has" in ended.stderr)
    if not is_right:
        failures += 1
        print(f"exchanged for {exchanged_for}: status {ended.returncode}, left {left}, "
              f"files {[each[:20] for each in found]}\n{ended.stdout}{ended.stderr}")
sys.exit(failures != 0)

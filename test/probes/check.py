#!/usr/bin/env python3
"""check.py notes|scripts PROGRAM TOOLS: checks the static probes (USDT) of PROGRAM, which is program.cpp compiled with
QIO_USDT=1, or "" if the header <sys/sdt.h> is missing.

notes: the ELF file has the three probes with their arguments. scripts: bpftrace runs the scripts in the directory
TOOLS, and they print what PROGRAM does. Exit status: 0 all is as it should be, 1 not, 77 skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ARGUMENTS = {"operation_start": 6, "operation_submit": 5, "operation_complete": 6}
DONE = "the program has done what it was to do"


def skip(why: str) -> None:
    print(f"SKIPPED: probes: {why}")
    sys.exit(77)


def output_of(*command: str, timeout: int = 100) -> tuple[int, str]:
    run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=timeout)
    return run.returncode, run.stdout.decode(errors="replace")


# --- the notes of the ELF file ---

def check_notes(program: str) -> list[str]:
    if shutil.which("readelf") is None:
        skip("readelf is not installed")
    text = output_of("readelf", "--notes", program)[1]
    note = re.compile(r"Provider: qio\s+Name: (\w+)\s.*?Arguments:([^\n]*)", re.DOTALL)
    places = [(name, len(re.findall(r"(?<![^ ])-?\d@", arguments))) for name, arguments in note.findall(text)]
    wrong = [f"there is no probe qio:{name}" for name in ARGUMENTS if name not in dict(places)]
    wrong += [f"qio:{name} has {count} arguments" for name, count in places if ARGUMENTS.get(name) != count]
    return wrong


# --- what the scripts print ---

def histogram(text: str, name: str, kind: str) -> int:
    """How many values there are in the histograms of this name and kind, whatever carried the operations out."""
    total = 0
    for body in re.findall(rf"^@{name}\[{kind}, \w+\]: *\n((?:[\[(].*\n)+)", text, re.MULTILINE):
        total += sum(int(count) for count in re.findall(r"[])]\s+(\d+) \|", body))
    return total


def check_latency(text: str, _: str) -> list[str]:
    wrong = []
    for name in ("microseconds", "queued"):
        for kind, count in {"read": 64, "write": 65, "sync": 1}.items():
            if (found := histogram(text, name, kind)) != count:
                wrong.append(f"latency.bt: @{name} has {found} of kind {kind}, not {count}")
    wrong += [f"latency.bt does not print {line}" for line in ("@at_once[read]: 1", "@failed[write, 28]: 1")
              if line not in text]
    return wrong


def check_slow(text: str, path: str) -> list[str]:
    wrong = []
    line = r"^\d+ +\d+ +{} +\d+ +\d+ +(?:kernel|worker) +{} +{} +{} +{}$"
    for what in (("write", 4096, 4096, 0, path), ("read", 63 * 4096, 4096, 0, path), ("sync", 0, 0, 0, path),
                 ("write", 0, 0, 28, "/dev/full")):
        if not re.search(line.format(*what), text, re.MULTILINE):
            wrong.append(f"slow.bt has no line for {what}")
    if (took := re.search(r"^\d+ +\d+ +call +(\d+) ", text, re.MULTILINE)) is None or int(took[1]) < 100_000:
        wrong.append("slow.bt has no line for the call, or the call took less than 100 ms")
    return wrong


def check_in_flight(text: str, _: str) -> list[str]:
    is_shown = re.search(r"^@in_flight\[call, \]: 1$", text, re.MULTILINE)
    wrong = [] if is_shown else ["in_flight.bt does not show the call"]
    return wrong + [f"in_flight.bt: {line} stays" for line in re.findall(r"^@operation\[.*$", text, re.MULTILINE)]


def check_scripts(program: str, tools: pathlib.Path) -> list[str]:
    if shutil.which("bpftrace") is None:
        skip("bpftrace is not installed")
    if os.geteuid() != 0:
        skip("bpftrace needs root")
    status, text = output_of("bpftrace", "-e", 'BEGIN { printf("%s\\n", "it works"); exit(); }')
    if "it works" not in text:
        skip(f"bpftrace does not work here: {' '.join(text.split())[:200] or status}")
    # A script, its options, and how long the program's call takes: in_flight.bt prints every second.
    checks = {"latency.bt": (check_latency, [], 0), "slow.bt": (check_slow, ["0"], 100),
              "in_flight.bt": (check_in_flight, [], 3000)}
    wrong = [f"no test runs {each.name}" for each in tools.glob("*.bt") if each.name not in checks]
    for script, (check, options, milliseconds) in checks.items():
        # The name of a directory is part of what str() reads: 64 bytes.
        with tempfile.TemporaryDirectory(prefix="qio-", dir="/tmp") as directory:
            text = output_of("bpftrace", "-c", f"{program} {directory} {milliseconds}", str(tools / script), program,
                             *options)[1]
            found = [] if DONE in text else [f"{script}: the program did not end as it should"]
            found += check(text, f"{directory}/traced")
        if found:
            print(text)
        wrong += found
    return wrong


def main() -> int:
    what, program, tools = sys.argv[1:]
    if not program:
        skip("there is no <sys/sdt.h>: install systemtap-sdt-dev")
    program = str(pathlib.Path(program).resolve())
    wrong = check_notes(program) if what == "notes" else check_scripts(program, pathlib.Path(tools))
    for each in wrong:
        print(each)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

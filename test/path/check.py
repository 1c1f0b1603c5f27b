#!/usr/bin/env python3
"""check.py COMPILER FLAGS_FILE GCOV: through how many headers and functions of the library an operation goes.

The figures say how much one must read to understand an operation. They are counted, as executed, by gcc's coverage:
exact, and the same on each machine. Fails above limits.txt, and lists the functions by header; lower a limit when the
figure has become lower. Exit status: 0 within the limits, 1 not, 77 skipped.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = "include/qio/"


def skip(reason: str) -> None:
    print(f"SKIPPED: path: {reason}")
    sys.exit(77)


def executed(gcov: str, room: pathlib.Path) -> dict[str, set[str]]:
    """The functions that were executed, by header."""
    notes = [str(each) for each in room.glob("*.gcda")]
    text = subprocess.run([gcov, "--json-format", "--stdout", *notes], cwd=room, capture_output=True, text=True,
                          check=True).stdout
    found = collections.defaultdict(set)
    for line in text.splitlines():
        for file in json.loads(line)["files"]:
            if LIBRARY in file["file"]:
                found[file["file"].split(LIBRARY)[-1]] |= {
                    each["demangled_name"] for each in file["functions"] if each["execution_count"] != 0}
    return {name: functions for name, functions in found.items() if functions}


def short(name: str) -> str:
    """A name without the namespaces, and without what follows its own arguments."""
    return re.sub(r"qio::v\w+::(detail::)?", "", name)[:160]


def main() -> int:
    compiler, flags, gcov = sys.argv[1:]
    if not gcov or gcov.endswith("-NOTFOUND"):
        skip("there is no gcov of the compiler's version")
    # Limits are those of file systems that have RWF_NOWAIT.
    if subprocess.run(["stat", "-f", "-c", "%T", "."], capture_output=True, text=True).stdout.strip() == "overlayfs":
        skip("an overlay, where operations go other ways")
    is_within, are_skipped = True, []
    with tempfile.TemporaryDirectory(dir=".") as directory:
        room = pathlib.Path(directory).resolve()
        subprocess.run([compiler, f"@{flags}", "-w", "-UQIO_CHECKS", "-DQIO_CHECKS=0", "-O0", "--coverage",
                        str(HERE / "operations.cpp"), "-o", "operations", "-lpthread"], cwd=room, check=True)
        for line in (HERE / "limits.txt").read_text().splitlines():
            if line.startswith("#"):
                continue
            operation, most_files, most_functions = line.split()
            for old in room.glob("*.gcda"):
                old.unlink()
            run = subprocess.run(["./operations", operation, "path.tmp"], cwd=room, stdout=subprocess.PIPE, text=True)
            if run.returncode == 77:
                are_skipped.append(f"{operation}: {run.stdout.removeprefix('SKIPPED: ').strip()}")
                continue
            if run.returncode != 0:
                print(f"{operation}: the program ended with status {run.returncode}")
                return 1
            functions = executed(gcov, room)
            count = sum(len(each) for each in functions.values())
            print(f"{operation:10} {len(functions):3} headers, {count:4} functions; limits {most_files}, "
                  f"{most_functions}")
            if len(functions) > int(most_files) or count > int(most_functions):
                is_within = False
                print(f"{operation} goes through more than limits.txt allows:")
                for name in sorted(functions, key=lambda name: -len(functions[name])):
                    print(f"  {name}: {len(functions[name])}")
                    for each in sorted(map(short, functions[name])):
                        print(f"    {each}")
    if not is_within:
        return 1
    if are_skipped:
        skip("; ".join(are_skipped))
    return 0


if __name__ == "__main__":
    sys.exit(main())

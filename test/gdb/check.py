#!/usr/bin/env python3
"""check.py PROGRAM PRINTERS: stops PROGRAM (program.cpp) in gdb with operations in flight, and checks what PRINTERS
(cmake/gdb/qio.py) show: in the process, in its core file, and after its memory was damaged.

Exit status: 0 all facts are shown, 1 not, 77 skipped.
"""
from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SETTINGS = ["set pagination off", "set width 0", "set debuginfod enabled off", "set print symbol-loading off"]
MARK = "@@@ "
CALLBACK = r"calls main::\S+"

# An expression, and a pattern that must match all that is printed of it.
SHOWN = {
    "no_error": r"no error",
    "misaligned": r"errc::misaligned_offset \(given 1000, needed 512\)",
    "full": r"ENOSPC \(28: No space left on device\), after 1234 bytes",
    "moved": r"success = \{value = 77\}",
    "done": r"success",
    "missing": r"failure: cannot open missing\.tmp: ENOENT \(2: No such file or directory\)",
    "block": r"aligned_buffer of 8192 bytes at 0x[0-9a-f]+, aligned to 512",
    "part": r"const_buffer of 100 bytes at 0x[0-9a-f]+",
    # The path has a control character.
    "cached": r'cached file "cached\\x1b\.tmp", opened with access::read_write, handle \d+, without a context',
    "mapped": r'mapped file "cached\\x1b\.tmp", opened with access::read, handle \d+, without a context',
    "direct": r'direct file "cached\\x1b\.tmp",( which goes through the page cache instead,)? '
              r"opened with access::read, handle \d+, without a context",
    "empty": r"cached file, not open",
    "by_workers": r'cached file "workers\.tmp", opened with access::read, handle \d+, on worker threads, 1 in flight = '
                  rf"\{{\[0x\w+\] = read of 4096 bytes at 100, 0 done; waits for a worker thread; {CALLBACK}\}}",
    "waits": r'cached file "lock\.tmp", .*, on worker threads, 1 in flight = \{\[0x\w+\] = lock of a range; '
             rf"repeated by the context's thread until it succeeds; {CALLBACK}\}}",
    "block_worker": rf"call of a function; with a worker thread; {CALLBACK}",
    "waits_for_worker": rf"read of 4096 bytes at 100, 0 done; waits for a worker thread; {CALLBACK}",
    "refused": r"read of 4096 bytes at 18446744073709551615, 0 done; "
               r"failed: cannot read workers\.tmp: errc::offset_too_large "
               r"\(given 18446744073709551615, needed 9223372036854775807\), and is called back in the next turn; "
               rf"{CALLBACK}",
    "lock": rf"lock of a range; repeated by the context's thread until it succeeds; {CALLBACK}",
    "in_ring": r"read of 4096 bytes at 0, 0 done; "
               rf"(in the ring, handed to the kernel in the next turn|.*worker thread.*); {CALLBACK}",
    "file": r'cached file "ring\.tmp", opened with access::read_write, handle \d+, on '
            r"(io_uring|Linux AIO|worker threads), 1 in flight = .*",
    "ended": r"read of 5 bytes at 0, 5 done; succeeded",
    "made": r"read of 4096 bytes at 0, 0 done; not started",
    "write": rf"durable write of 1000 bytes at 8192, 0 done; with the simulated disk; {CALLBACK}",
    "sync": rf"sync of data; with the simulated disk; {CALLBACK}",
    "batch": rf"batch of 3, 3 not complete; started; {CALLBACK} = \{{"
             r"\[0\] = read of 10 bytes at 0, 0 done; with the simulated disk, "
             r"\[1\] = read of 20 bytes at 100, 0 done; waits for a place in the engine, "
             r"\[2\] = read of 30 bytes at 200, 0 done; waits for a place in the engine\}",
    "full_slot": r"operation_slot: read of 4096 bytes at 1, 0 done; not started",
    "empty_slot": r"operation_slot: empty",
    "has_part": rf"write of 4096 bytes at 0, 0 done; a part of it is in flight; {CALLBACK}",
    "waits_for_turn": rf"read of 4096 bytes at 100, 0 done; waits for the turn of its class; {CALLBACK}",
    "classed": r'cached file "classed", .*, on a simulated disk, 2 in flight = \{\[0x\w+\] = '
               r"write of 4096 bytes at 0, 0 done; with the simulated disk; part of a background operation, "
               rf"{CALLBACK}, "
               rf"\[0x\w+\] = read of 4096 bytes at 100, 0 done; waits for the turn of its class; {CALLBACK}\}}",
    "data": r'cached file "data", opened with access::read_write, handle \d+, on a simulated disk, 3 in flight = .*',
    "workers": r"context on worker threads, 3 in flight, 1 completed and not called back yet = .*",
    "simulation": r"context on a simulated disk, 7 in flight = .*",
    "not_started": r"task: load\(\) at program\.cpp:\d+, not started",
    "*observed.inner": r'task: load\(\) at program\.cpp:\d+, awaits on "data": read of 4096 bytes at 4096, 0 done; '
                       r"waits for a place in the engine",
    "*observed.outer": r"task: load_twice\(\) at program\.cpp:\d+, awaits load\(\) at program\.cpp:\d+, and load\(\) "
                       r'awaits on "data": read of 4096 bytes at 4096, 0 done; waits for a place in the engine',
}

# What `qio in-flight` prints somewhere, in the process and in its core file.
IN_FLIGHT = [
    r"context 0x\w+ on a simulated disk: 7 in flight",
    r'  "data"(\n    .*)*\n    0x\w+: durable write of 1000 bytes at 8192, 0 done; with the simulated disk; '
    rf"{CALLBACK}\n",
    r"    0x\w+: read of 4096 bytes at 4096, 0 done; waits for a place in the engine; awaited by load\(\) at "
    r"program\.cpp:\d+, in load_twice\(\), in run_both\(\), in qio::when_all\(\)\n",
    rf"    0x\w+: read of 30 bytes at 200, 0 done; waits for a place in the engine; part of a batch, {CALLBACK}\n",
    r"    0x\w+: call of a function; waits for a place in the engine; awaited by call\(\) at program\.cpp:\d+, in "
    r"qio::when_all\(\)\n",
    r"  sleeping\n    nap\(\) at program\.cpp:\d+, in qio::when_all\(\), sleeps until \d+\.\d+ s of the context's "
    r"clock\n",
    r"context 0x\w+ on worker threads: 3 in flight, 1 completed and not called back yet\n",
    rf"  \(no path\)\n    0x\w+: call of a function; with a worker thread \(thread \d+\); {CALLBACK}\n",
    r"  completed\n    0x\w+: read of .*; failed: cannot read workers\.tmp: errc::offset_too_large .*; "
    r"\"workers\.tmp\"\n",
]


def skip(why: str) -> None:
    print(f"SKIPPED: gdb: {why}")
    sys.exit(77)


def gdb(commands: list[str], *arguments: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write("\n".join(SETTINGS + commands) + "\n")
        script.flush()
        run = subprocess.run(["gdb", "-batch", "-nx", "-x", script.name, *arguments], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    return run.stdout.decode(errors="replace")


def marked(name: str, *commands: str) -> list[str]:
    """Commands whose output answers() finds by the name, even if one of them fails."""
    calls = [f"python try_to({command!r})" for command in commands]
    return [f"echo \\n{MARK}{name}\\n", *calls]


FUNCTIONS = """python
from qio_gdb.memory import pointer

def try_to(command):
    try:
        gdb.execute(command)
    except gdb.error as failure:
        print("gdb fails:", failure)

def activity(file):
    return pointer(gdb.parse_and_eval(file)["state_"])["file"]["activity"]

def damage(value):
    gdb.selected_inferior().write_memory(int(value.address), (16).to_bytes(8, "little"))
end"""


def damage(value: str) -> str:
    """Makes a pointer, the first member of a value, lead to memory that does not exist."""
    return f"python damage({value})"


def answers(output: str) -> dict[str, str]:
    parts = output.split(f"\n{MARK}")[1:]
    return {name: text for name, text in (part.split("\n", 1) for part in parts)}


def main() -> int:
    program, printers = (str(pathlib.Path(each).resolve()) for each in sys.argv[1:])
    if shutil.which("gdb") is None:
        skip("gdb is not installed")
    if "it has Python" not in gdb(["python print('it has Python')"]):
        skip("this gdb has no Python")

    with tempfile.TemporaryDirectory(dir=".") as directory:
        core = f"{directory}/core"
        begin = [f"source {printers}", FUNCTIONS]  # an error ends the script
        commands = [*begin, f"cd {directory}", "break stop_here", "run", "frame function main"]
        for each in SHOWN:
            commands += marked(each, f"output {each}")
        commands += marked("in flight", "qio in-flight")
        # As if the selected frame was that of a system call.
        commands += marked("in flight, in assembler", "set language asm", "qio in-flight", "output data",
                           "output missing", "set language auto")
        commands += marked("of one", "qio in-flight in_ring")
        commands += marked("of a file without a context", "qio in-flight cached")
        commands += marked("of something else", "qio in-flight 7")
        commands += marked("core", f"generate-core-file {pathlib.Path(core).resolve()}")
        # Damage, which adds up.
        commands += marked("damaged path", damage('activity("other")["path"]'), "output other")
        commands += marked("damaged list", damage('activity("data")["held"]["ends_"]["after"]'), "output data")
        commands += marked("damaged file in a list", "qio in-flight data")
        commands += marked("damaged request", "set var *(char*)&made.op = 99", "output made")
        commands += marked("damaged task", damage('gdb.parse_and_eval("*observed.outer")'), "output *observed.outer")
        commands += marked("damaged context", damage('gdb.parse_and_eval("simulation")'), "output simulation")
        commands += marked("killed", "kill", "qio in-flight")
        output = gdb(commands, program)
        found = answers(output)
        if f"\n{MARK}" not in output or "stop_here" not in output:
            blocked = re.search(r".*(ptrace|trace the inferior|attach).*", output)
            if blocked:
                skip(f"gdb cannot run programs here: {blocked.group().strip()}")
            print(f"gdb did not stop in the program:\n{output}")
            return 1
        has_core = pathlib.Path(core).exists()
        if "Traceback" in output.split(f"\n{MARK}", 1)[0]:
            print(f"gdb cannot load the printers:\n{output}")
            return 1
        found |= {f"core: {name}": text for name, text in answers(
            gdb([*begin, *marked("in flight", "qio in-flight")], program, core) if has_core else "").items()}

    failures = []

    def expect(name: str, pattern: str, is_all: bool = False) -> None:
        text = found.get(name, "")
        if not (re.fullmatch(pattern, text.strip()) if is_all else re.search(pattern, text)):
            failures.append(f"{name}: this is missing:\n  {pattern}\nin what is printed:\n{text}")

    for name, pattern in SHOWN.items():
        expect(name, pattern, is_all=True)
    for pattern in IN_FLIGHT:
        expect("in flight", pattern)
        expect("in flight, in assembler", pattern)
        # A core file has no names of threads, but their numbers. That of the ring may lack what the kernel shares.
        if has_core:
            expect("core: in flight", pattern)
    expect("in flight, in assembler", r'cached file "data", .* 3 in flight = .*failure: cannot open missing\.tmp: E')
    expect("of one", r"^context 0x\w+ on .*: 1 in flight\n  \"ring\.tmp\"\n    0x\w+: read of 4096 bytes at 0, .*\s*$")
    expect("of a file without a context", r"^qio in-flight: cached has no context\s*$")
    expect("of something else", r"^qio in-flight: 7 is no context, file or operation of qio: its type is int\s*$")
    nowhere = r"\(unreadable: Cannot access memory at address 0x[0-9a-f]+\)"
    expect("damaged path", rf"^cached file {nowhere}, opened with access::read, ")
    expect("damaged list", rf'^cached file "data", .* 3 in flight = \{{\.\.\. = {nowhere}\}}')
    expect("damaged file in a list", rf'\n  "data"\n    {nowhere}\n  sleeping\n')
    expect("damaged context", nowhere)
    expect("damaged request", r"^\(unreadable: 99 is no qio::opcode\); not started\s*$")
    expect("damaged task", rf"^task: {nowhere}\s*$")
    expect("killed", r"qio in-flight: there is no process and no core file\s*$")
    for name, text in found.items():
        if "Traceback" in text or "Python Exception" in text or "gdb fails" in text:
            failures.append(f"{name}: an error instead of a sentence:\n{text}")
        if name != "killed" and re.search(r"qio::v\d", text):
            failures.append(f"{name}: the inline namespace is shown:\n{text}")
    print("\n".join(failures) or "all facts are shown")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""violations.py INCLUDE_DIRECTORY: breaks each rule of check.py in a copy of the headers, and expects it to be found."""
import pathlib
import sys

from check import violations

root = pathlib.Path(sys.argv[1]) / "qio"
HEADERS = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.hpp")}


def with_line(name: str, line: str) -> dict[str, str]:
    return {**HEADERS, name: HEADERS[name] + line + "\n"}


BROKEN = {
    "an upward include": (with_line("request/request.hpp", "#include <qio/engine/engine.hpp>"), "must not include"),
    "an upward include of a public header": (with_line("system/piece.hpp", "#include <qio/file.hpp>"),
                                             "must not include"),
    "a header that does not exist": (with_line("qio.hpp", "#include <qio/nowhere.hpp>"), "does not exist"),
    "a question for the system": (with_line("loop/loop.hpp", "#if defined(_WIN32)"), "asks for the operating system"),
    "a header in no layer": ({**HEADERS, "detail/new.hpp": "#pragma once\n"}, "belongs to no layer"),
    "a folder that holds too much": ({**HEADERS, "loop/large.hpp": "\n" * 100_000}, "% of the lines"),
}

missed = [what for what, (headers, message) in BROKEN.items()
          if not any(message in each for each in violations(headers))]
for each in missed:
    print(f"not found: {each}")
print(f"{len(BROKEN) - len(missed)} of {len(BROKEN)} violations found")
sys.exit(1 if missed or list(violations(HEADERS)) else 0)

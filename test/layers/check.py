#!/usr/bin/env python3
"""check.py INCLUDE_DIRECTORY: checks the layers of qio's headers.

A header includes headers of its own layer and of layers below, no other; each header belongs to a layer; no folder holds
more than 30 % of the lines; the operating system is asked for in two files. Prints each violation; exit status 1 if there
is one.
"""
import pathlib
import re
import sys

# From the bottom up. A public header stands beside the folder whose layer it belongs to.
LAYERS = [
    ("values", ["base/", "version", "configuration", "result", "mode", "buffer", "path", "explanation", "statistics",
                "options", "operation_options"]),
    ("system", ["system/", "directory"]),
    ("request", ["request/"]),
    ("simulation", ["simulation/"]),
    ("engine", ["engine/"]),
    ("loop", ["loop/", "operation", "task", "task_scope", "context"]),
    ("file", ["file/", "file", "salvage", "format", "qio"]),
]
MOST_LINES = 0.30
MAY_ASK_FOR_THE_SYSTEM = {"configuration.hpp", "system/platform.hpp"}
SYSTEM_MACRO = re.compile(r"^\s*#\s*(?:if|elif|ifdef|ifndef)\b.*\b(_WIN32|__linux__|__APPLE__|__unix__)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]qio/([^>"]+)[>"]')


def layer_of(name: str) -> int | None:
    """The layer of a header, named relative to qio/."""
    for rank, (_, members) in enumerate(LAYERS):
        if any(name.startswith(each) if each.endswith("/") else name == each + ".hpp" for each in members):
            return rank
    return None


def violations(headers: dict[str, str]):
    """What is wrong in headers, given as name to text."""
    lines_of: dict[str, int] = {}
    for name, text in sorted(headers.items()):
        folder = name.split("/")[0] if "/" in name else "."
        lines_of[folder] = lines_of.get(folder, 0) + text.count("\n")
        rank = layer_of(name)
        if rank is None:
            yield f"{name}: belongs to no layer; add it to LAYERS in check.py"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if SYSTEM_MACRO.match(line) and name not in MAY_ASK_FOR_THE_SYSTEM:
                yield f"{name}:{number}: asks for the operating system; that is for system/platform.hpp"
            included = INCLUDE.match(line)
            if not included:
                continue
            below = layer_of(included[1])
            if included[1] not in headers:
                yield f"{name}:{number}: includes {included[1]}, which does not exist"
            elif below is not None and below > rank:
                yield (f"{name}:{number}: includes {included[1]}: layer {LAYERS[rank][0]} must not include layer "
                       f"{LAYERS[below][0]}")
    total = sum(lines_of.values())
    for folder, lines in lines_of.items():
        if lines > MOST_LINES * total:
            yield f"{folder}: holds {100 * lines / total:.0f} % of the lines, {100 * MOST_LINES:.0f} % is the limit"


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1]) / "qio"
    headers = {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*.hpp")}
    found = list(violations(headers))
    for each in found:
        print(each)
    print(f"{len(headers)} headers, {len(found)} violations")
    return 1 if found or not headers else 0


if __name__ == "__main__":
    sys.exit(main())

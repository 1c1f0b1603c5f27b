#!/usr/bin/env python3
"""single_header.py DIRECTORY: writes the library as one file, DIRECTORY/qio.hpp, for programs without a build system.

It has all public headers but those that need another library (ADAPTERS). Each of these becomes a small file beside it:
qio/format.hpp is qio_format.hpp. Files that are up to date are left alone.
"""
import graphlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r"^\s*#\s*include\s*<qio/([^>]+)>")
DIRECTIVE = re.compile(r"^\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(.*?)\s*(?://.*)?$")
CONDITION = {"if": "{}", "elif": "{}", "else": "", "ifdef": "defined({})", "ifndef": "!defined({})"}
ADAPTERS = ["asio.hpp", "boost_asio.hpp", "execution.hpp", "format.hpp"]
PUBLIC_IN_FOLDERS = ["engine/simulated.hpp"]


def includes(text: str):
    """The library's headers that a header includes, each with the set of its conditions.

    An #else, and the conditions before an #elif, count as no condition: a header too many does no harm.
    """
    branches = []  # the current branch of each #if around the line
    for line in text.splitlines():
        if found := INCLUDE.match(line):
            yield found[1], frozenset(filter(None, branches))
        elif found := DIRECTIVE.match(line):
            word, condition = found.groups()
            if word in ("elif", "else", "endif"):
                branches.pop()
            if word != "endif":
                branches.append(CONDITION[word].format(condition))


def conditions(order: list[str], included: dict) -> dict[str, set]:
    """When each header is needed: under all conditions of one of these sets. `order`: what is included comes first."""
    needed = {name: {frozenset()} if "/" not in name or name in PUBLIC_IN_FOLDERS else set() for name in order}
    for name in reversed(order):
        if not needed[name]:
            sys.exit(f"single_header.py: no public header includes qio/{name}")
        # "On Linux" makes "on Linux, with io_uring" superfluous.
        needed[name] = {each for each in needed[name] if not any(other < each for other in needed[name])}
        for each, condition in included[name]:
            needed[each] |= {outer | condition for outer in needed[name]}
    return needed


def body(text: str) -> str:
    """A header without what the whole file has once: license, #pragma once, includes of the library's headers."""
    lines = [line for line in text.splitlines() if not INCLUDE.match(line) and
             line != "#pragma once" and not line.startswith("// SPDX-License-Identifier:")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def single_headers(include: pathlib.Path) -> dict[str, str]:
    """The text of each file, by its name."""
    texts = {path.relative_to(include).as_posix(): path.read_text(encoding="utf-8")
             for path in sorted(include.rglob("*.hpp"))}
    included = {name: list(includes(text)) for name, text in texts.items()}
    graph = {name: [each for each, _ in included[name]] for name in texts}
    order = list(graphlib.TopologicalSorter(graph).static_order())
    needed = conditions(order, included)
    version = ".".join(re.findall(r"#define QIO_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", texts["version.hpp"]))

    begin = ("// SPDX-License-Identifier: BSL-1.0\n"
             f"// {{}} of qio {version}, written by cmake/single_header.py: change include/qio instead.\n"
             "#pragma once\n")
    whole = [begin.format("All headers")]
    files = {}
    for name in order:
        if name in ADAPTERS:
            files[f"qio_{name}"] = f'{begin.format(f"qio/{name}")}\n#include "qio.hpp"\n\n{body(texts[name])}'
            continue
        text = f"// --- qio/{name}\n\n{body(texts[name])}"
        if frozenset() not in needed[name]:
            text = f"#if {' || '.join(sorted(' && '.join(sorted(each)) for each in needed[name]))}\n{text}#endif\n"
        whole.append(text)
    files["qio.hpp"] = "\n".join(whole)
    return files


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in single_headers(ROOT / "include" / "qio").items():
        path = directory / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

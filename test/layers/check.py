#!/usr/bin/env python3
"""check.py PROJECT_DIRECTORY: checks the layers of qio's headers, and of qd1's sources.

A file includes files of its own layer and of layers below, no other; each file belongs to a layer; the operating system
is asked for in the files that may. In qd1, folders of one layer do not include one another either. Prints each
violation; exit status 1 if there is one.
"""
import dataclasses
import pathlib
import posixpath
import re
import sys

SYSTEM_MACRO = re.compile(r"^\s*#\s*(?:if|elif|ifdef|ifndef)\b.*\b(_WIN32|__linux__|__APPLE__|__FreeBSD__|__unix__)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the project that is built in layers."""
    folder: str
    prefix: str  # before the names of its files in includes
    suffixes: tuple[str, ...]
    # From the bottom up: folders, and files without their suffix. A file's own entry goes before that of its folder.
    layers: list[tuple[str, list[str]]]
    may_ask_for_the_system: frozenset[str]
    folders_are_apart: bool  # in one layer
    needs_prefix: bool  # includes without it are of other parts

    def layer_of(self, name: str) -> int | None:
        """The layer of a file, by its name in the part's folder."""
        stem = name.rsplit(".", 1)[0]
        ranks = {member: rank for rank, (_, members) in enumerate(self.layers) for member in members}
        if stem in ranks:
            return ranks[stem]
        folders = [member for member in ranks if member.endswith("/") and name.startswith(member)]
        return ranks[max(folders, key=len)] if folders else None

    def included(self, by: str, name: str, files: dict[str, str]) -> str | None:
        """The file of this part that an include names; None if it is of another part."""
        if name.startswith(self.prefix):
            return name.removeprefix(self.prefix)
        if self.needs_prefix:
            return None
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(by), name))
        return next((each for each in (beside, name) if each in files), None)

    def files(self, project: pathlib.Path) -> dict[str, str]:
        root = project / self.folder
        return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.rglob("*"))
                if path.suffix in self.suffixes}


# A public header stands beside the folder whose layer it belongs to.
QIO = Part(folder="include/qio", prefix="qio/", suffixes=(".hpp",), layers=[
    ("values", ["base/", "version", "configuration", "result", "mode", "buffer", "path", "explanation", "extent",
                "if_exists", "name_options", "copy_options", "file_status", "statistics", "io_class", "options", "operation_options"]),
    ("system", ["system/", "directory"]),
    ("request", ["request/", "observer", "traced_operation", "recorded_order"]),
    ("simulation", ["simulation/"]),
    ("engine", ["engine/", "explore_crashes"]),
    ("loop", ["loop/", "operation", "write_and_sync", "batch", "posted_call", "task", "task_scope", "when_any", "context"]),
    ("file", ["file/", "file", "call", "buffer_pool", "any_file", "bounce/", "bounce_pool", "bounced", "salvage",
              "shared_file", "format", "std_format", "expected", "qio", "names", "names/", "copy", "stream/", "reader", "writer", "status",
              "directory_reader", "tree", "tree/", "asio/", "asio", "boost_asio", "execution", "latencies", "trace_recorder", "io_scheduler"]),
    ("log", ["log/", "log_writer", "shared_log"]),
], may_ask_for_the_system=frozenset({"configuration.hpp", "system/platform.hpp"}), folders_are_apart=False,
           needs_prefix=True)

# commands → what is measured → findings → report → values; output, html and merge read what was measured.
QD1 = Part(folder="benchmark/qd1", prefix="qd1/", suffixes=(".hpp", ".cpp"), layers=[
    ("values", ["enumerators", "failure", "modes", "units"]),
    ("tools", ["fields/", "options/", "ranks/", "text/", "platform/cpuid"]),
    ("machine", ["machine/"]),
    ("platform", ["platform/"]),
    ("report", ["report", "report_fields", "title", "withheld"]),
    ("statistics", ["statistics/"]),
    ("figures", ["figures"]),
    ("findings", ["compare/", "findings/"]),
    ("measure", ["measure/"]),
    ("pressure", ["pressure/"]),
    ("loads", ["depth/", "watch/"]),
    ("memory", ["memory/"]),
    ("experiments", ["reproduce/"]),
    ("output", ["html/", "output/"]),
    ("merge", ["merge/"]),
    ("selftest", ["selftest/"]),
    ("commands", ["commands/"]),
    ("program", ["command_line", "main"]),
], may_ask_for_the_system=frozenset(), folders_are_apart=True, needs_prefix=False)


def folder_of(name: str) -> str:
    return name.split("/")[0] if "/" in name else "."


def include_violations(part: Part, files: dict[str, str], name: str, rank: int):
    """What is wrong with the includes of one file."""
    for number, line in enumerate(files[name].splitlines(), 1):
        if SYSTEM_MACRO.match(line) and name not in part.may_ask_for_the_system:
            yield f"{name}:{number}: asks for the operating system; that is for platform.hpp and the twins it chooses"
        match = INCLUDE.match(line)
        included = part.included(name, match[1], files) if match else None
        if included is None:
            continue
        below = part.layer_of(included)
        if included not in files:
            yield f"{name}:{number}: includes {included}, which does not exist"
        elif below is not None and below > rank:
            yield (f"{name}:{number}: includes {included}: layer {part.layers[rank][0]} must not include layer "
                   f"{part.layers[below][0]}")
        elif part.folders_are_apart and below == rank and folder_of(included) != folder_of(name):
            yield (f"{name}:{number}: includes {included}: folders of one layer do not include one another; move what "
                   f"both need to a layer below")


def violations(part: Part, files: dict[str, str]):
    """What is wrong in the files of a part, given as name to text."""
    for name in sorted(files):
        rank = part.layer_of(name)
        if rank is None:
            yield f"{name}: belongs to no layer; add it to the layers in check.py"
        else:
            yield from include_violations(part, files, name, rank)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    status = 0
    for part in (QIO, QD1):
        files = part.files(pathlib.Path(sys.argv[1]))
        found = list(violations(part, files))
        for each in found:
            print(f"{part.folder}/{each}")
        print(f"{part.folder}: {len(files)} files, {len(found)} violations")
        status |= bool(found) or not files
    return status


if __name__ == "__main__":
    sys.exit(main())

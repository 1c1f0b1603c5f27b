#!/usr/bin/env python3
"""violations.py PROJECT_DIRECTORY: breaks each rule of check.py in a copy of the files, and expects it to be found."""
import pathlib
import sys

from check import QD1, QIO, Part, violations

FILES = {part.folder: part.files(pathlib.Path(sys.argv[1])) for part in (QIO, QD1)}


def with_line(part: Part, name: str, line: str) -> dict[str, str]:
    files = FILES[part.folder]
    return {**files, name: files[name] + line + "\n"}


def with_file(part: Part, name: str, text: str) -> dict[str, str]:
    return {**FILES[part.folder], name: text}


BROKEN = [
    ("an upward include", QIO, with_line(QIO, "request/request.hpp", "#include <qio/engine/engine.hpp>"),
     "layer request must not include layer engine"),
    ("an upward include of a public header", QIO, with_line(QIO, "system/platform.hpp", "#include <qio/file.hpp>"),
     "layer system must not include layer file"),
    ("a header that does not exist", QIO, with_line(QIO, "qio.hpp", "#include <qio/nowhere.hpp>"), "does not exist"),
    ("a question for the system", QIO, with_line(QIO, "loop/loop.hpp", "#if defined(_WIN32)"),
     "asks for the operating system"),
    ("a header in no layer", QIO, with_file(QIO, "detail/new.hpp", "#pragma once\n"), "belongs to no layer"),
    ("loads that include memory", QD1, with_line(QD1, "depth/ladder.cpp", '#include "memory/memory.hpp"'),
     "layer loads must not include layer memory"),
    ("measuring that includes output", QD1, with_line(QD1, "measure/progress.cpp", '#include "output/wording.hpp"'),
     "layer measure must not include layer output"),
    ("output that includes the page", QD1, with_line(QD1, "output/json.cpp", '#include "html/html.hpp"'),
     "folders of one layer do not include one another"),
    ("a page that includes output, by a path from its folder", QD1,
     with_line(QD1, "html/markup.cpp", '#include "../output/wording.hpp"'),
     "folders of one layer do not include one another"),
    ("an upward include by the name that tests use", QD1,
     with_line(QD1, "html/page.cpp", "#include <qd1/commands/common.hpp>"),
     "layer output must not include layer commands"),
    ("an upward include by a file of the part's own folder", QD1,
     with_line(QD1, "units.cpp", '#include "report.hpp"'), "layer values must not include layer report"),
    ("a file of qd1 that does not exist", QD1, with_line(QD1, "main.cpp", "#include <qd1/nowhere.hpp>"),
     "does not exist"),
    ("a question of qd1 for the system", QD1, with_line(QD1, "measure/run.cpp", "#ifdef __linux__"),
     "asks for the operating system"),
    ("a file of qd1 in no layer", QD1, with_file(QD1, "detail/new.cpp", "\n"), "belongs to no layer"),
]

missed = [what for what, part, files, message in BROKEN
          if not any(message in each for each in violations(part, files))]
for each in missed:
    print(f"not found: {each}")
print(f"{len(BROKEN) - len(missed)} of {len(BROKEN)} violations found")
sound = all(not list(violations(part, FILES[part.folder])) for part in (QIO, QD1))
sys.exit(0 if sound and not missed else 1)

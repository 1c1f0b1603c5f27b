#!/usr/bin/env python3
"""violations.py: expects check.py to find each habit that it knows, and nothing in plain prose."""
import pathlib
import sys
import tempfile

from check import RULES, RULES_OF_PAGES, broken_links, checked_files, missing_tests, prose, violations, wrong_excerpts

PLAIN = """Reads up to `bytes` bytes. A short read means end of file; 0 means the offset is at or past the end.
Initialize the context before the first transfer: the kernel pins its memory once.
The operation is canceled when the deadline passes, and the buffer is free when it completes. Otherwise it promises
to exercise the engine, compares the result with the model, and reports the difference.
"""


def found(line: str, name: str = "docs/page.md") -> bool:
    return bool(list(violations(name, f"Plain before.\n{line}\nPlain after.\n")))


missed = [example for pattern, _, example in RULES if not pattern.search(example) or not found(f"// {example}", "a.hpp")]
missed += [example for pattern, _, example in RULES_OF_PAGES if not pattern.search(example) or not found(example)]
missed += [f"in code: {example}" for _, _, example in RULES_OF_PAGES if found(f"// {example}", "a.hpp")]
for line, wrong in (("word " * 30, True), ("```\n" + "word " * 30 + "\n```", False), ("| " + "word " * 30, False),
                    ("word " * 24, False), ("https://" + "a" * 150, False)):
    if found(line) is not wrong:
        missed.append(f"{'a' if wrong else 'no'} violation in: {line}")
if found("word " * 30, "a.hpp"):
    missed.append("a long line that is not Markdown's is clang-format's affair")
if len(list(missing_tests('Said. *("one"; "two\n words"; "three")*', 'TEST("one") TEST("two words")'))) != 1:
    missed.append("a test that a page quotes does not exist")
here = pathlib.Path(__file__).with_name("page.md")
links = "# One heading: `two`\n[a](#one-heading-two) [b](check.py) [c](https://x/y#z) [d](nothing.md) [e](#none)"
if len(list(broken_links(here, links))) != 2:
    missed.append(f"links: {list(broken_links(here, links))}")
root = here.parent.parent.parent
code = (root / "example/mapped.cpp").read_text(encoding="utf-8")
body = next(line for line in code.splitlines() if "mapped_file::open" in line).strip()
for shown, count in ((body, 0), (code, 0), (f"{body}\nmore();", 1)):
    if len(list(wrong_excerpts(f"<!-- example/mapped.cpp -->\n```cpp\n{shown.rstrip()}\n```\n", root))) != count:
        missed.append(f"an excerpt: {shown}")
if list(violations("docs/page.md", PLAIN)):
    missed.append(f"plain prose: {list(violations('docs/page.md', PLAIN))}")
with tempfile.TemporaryDirectory() as directory:
    program = pathlib.Path(directory) / "program"
    program.write_bytes(b"\x7fELF\xff the colour of it")
    if prose(program):
        missed.append("a program has no prose")
files = set(checked_files())
for name in ("include/qio/qio.hpp", "benchmark/qd1/main.cpp", "test/qd1/CMakeLists.txt", "cmake/steps.bash",
             "conan/conanfile.py", "README.md"):
    if name not in files:
        missed.append(f"not checked: {name}")
if any("/corpus/" in each or each.startswith("test/prose/") for each in files):
    missed.append("a file that has the phrases on purpose is checked")
for each in missed:
    print(f"not as expected: {each}")
print(f"{len(RULES) + len(RULES_OF_PAGES)} habits, {len(missed)} failures")
sys.exit(1 if missed else 0)

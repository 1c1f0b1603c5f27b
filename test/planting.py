"""Plants defects in a copy of the tree, one after the other, which its tests have to find.

Each defect is a change of one line. It is applied, the tests that are responsible for it are built and run, and have to
fail; then it is taken back. The same tests have to pass without it. A defect that no test finds has survived: sharpen a
test, or add one.

  --tree DIR  a copy of the tree that exists already and is changed; its debug preset is built in DIR/build/debug.
              Without it, a copy of HEAD is made in a temporary directory.
  --jobs N    for the build; 2
  --list      prints the defects
  WORD...     only defects whose name contains one of them
Exit status: 0 all were found, 1 some survived, or their tests fail without them, 2 a defect cannot be planted.
"""
import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
import time

SKIPPED = 77  # the exit status if all tests were skipped
TIMEOUT = 600  # seconds
FOUND = "found"
UNTRIED = "not tried, since its tests are skipped here"


@dataclasses.dataclass(frozen=True)
class Defect:
    name: str
    file: str  # below Tree.below
    correct: str  # occurs there once
    wrong: str
    tests: str  # what Tree.make() makes the program of
    cases: str  # names, as Catch2 takes them


class Tree:
    """A copy of the tree. Derived classes know how to make a program, make(tests), and where it is, program(tests)."""
    below = ""

    def __init__(self, root, jobs):
        self.root, self.build, self.jobs = root, root / "build/debug", jobs

    def run(self, defect):
        """The exit status of the tests; None if they were stopped, since they did not end."""
        with tempfile.TemporaryDirectory(dir=self.build) as here:
            try:
                return subprocess.run([self.program(defect.tests), defect.cases], cwd=here, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, timeout=TIMEOUT).returncode
            except subprocess.TimeoutExpired:
                return None

    def source(self, defect):
        return self.root / self.below / defect.file


def read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def result_of(tree, defect):
    """FOUND, UNTRIED, or what is wrong."""
    source = tree.source(defect)
    correct = read(source)
    source.write_text(correct.replace(defect.correct, defect.wrong), encoding="utf-8")
    try:
        built, text = tree.make(defect.tests)
        if not built:
            return "does not compile:\n" + text[-2000:]
        status = tree.run(defect)
    finally:
        source.write_text(correct, encoding="utf-8")
    if status == SKIPPED:
        return UNTRIED
    return "SURVIVED" if status == 0 else FOUND


def check_without(tree, defects):
    """Those whose tests fail without them, or do not exist."""
    failing = {}
    for key in sorted({(each.tests, each.cases) for each in defects}):
        built, text = tree.make(key[0])
        if not built:
            sys.exit(f"planted_defects: {key[0]} does not compile:\n{text[-2000:]}")
        of = next(each for each in defects if (each.tests, each.cases) == key)
        if tree.run(of) not in (0, SKIPPED):
            failing[key] = of
    return failing


def copy_of_head(into):
    top = pathlib.Path(__file__).resolve().parents[1]
    archive = subprocess.run(["git", "-C", top, "archive", "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", into], input=archive, check=True)
    subprocess.run(["cmake", "--preset", "debug"], cwd=into, stdout=subprocess.DEVNULL, check=True)


def plant(tree, defects):
    unplantable = [each for each in defects if read(tree.source(each)).count(each.correct) != 1]
    for each in unplantable:
        print(f"cannot be planted: {each.name}: {each.file} does not contain once: {each.correct}")
    failing = check_without(tree, defects)
    for tests, cases in failing:
        print(f"fails without a defect: {tests} '{cases}'", flush=True)
    results = []
    for each in defects:
        if each in unplantable or (each.tests, each.cases) in failing:
            continue
        began = time.monotonic()
        results.append(result_of(tree, each))
        print(f"{results[-1]}: {each.name} ({each.tests} '{each.cases}', {time.monotonic() - began:.0f} s)", flush=True)
    skipped = results.count(UNTRIED)
    survivors = len(results) - skipped - results.count(FOUND)
    print(f"{len(defects)} defects: {results.count(FOUND)} found, {survivors} survived, {skipped} not tried")
    return 2 if unplantable else 1 if survivors or failing else 0


def main(about, all_defects, tree_type):
    parser = argparse.ArgumentParser(description=about, epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("words", nargs="*")
    asked = parser.parse_args()
    chosen = [each for each in all_defects if not asked.words or any(word in each.name for word in asked.words)]
    if asked.list:
        for each in chosen:
            print(f"{each.name}: {each.file}: {each.correct} → {each.wrong}")
        return 0
    if asked.tree:
        return plant(tree_type(asked.tree.resolve(), asked.jobs), chosen)
    with tempfile.TemporaryDirectory() as made:
        copy_of_head(made)
        return plant(tree_type(pathlib.Path(made), asked.jobs), chosen)

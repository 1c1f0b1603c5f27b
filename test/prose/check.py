#!/usr/bin/env python3
"""check.py [--shrink] [FILE...]: checks the prose of the library, the benchmarks, the tests, the build and the
documentation (CONTRIBUTING.md).

Finds phrases that read as if translated, British spelling, Markdown lines over 120 columns, links to files and headings
that do not exist, tests that a page quotes, *("as here")*, which do not exist, and code below <!-- example/x.cpp -->
that is not in that file. Files named in not_rewritten.txt are exempt, and must be taken off that list once they pass:
--shrink does that, and never adds one.
Without FILE it checks all files. Prints each violation; exit status 1 if there is one.
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
EXEMPT = HERE / "not_rewritten.txt"
FOLDERS = ("include", "benchmark", "test", "example", "docs", "cmake", "conan")
# The phrases themselves; reports as qd1 wrote them; a license.
NOT_CHECKED = ("test/prose/", "docs/experiments/", "cmake/packages/debian/copyright")
SUFFIXES = {".hpp", ".cpp", ".rs", ".md", ".cmake", ".txt", ".in", ".sh", ".bash", ".ps1", ".py", ".js", ".css", ""}
COLUMNS = 120

# Each habit: a pattern, what to write instead, and a line that has it. A pattern matches whole words, in any case.
PHRASES = [
    (r"(?-i:Who) \w+s", "to …, a program that …, the name of who does it", "Who wants one engine"),
    (r"(is|are) to be", "must be", "a list that is to be empty"),
    (r"for ever", "forever", "the engine waits for ever"),
    (r"so many (bytes|of|may)", "the number, `n` bytes", "copies so many bytes"),
    (r"(is|are|was|were) (told|heard) of", "is reported, is registered", "what the ring is told of"),
    (r"(is|are|was|were) told(?! of)", "is documented, is passed", "The version is told once"),
    (r"(is|be|was|are) said (at|of|in)", "see …", "more is said at sync()"),
    (r"(can(not)?|could|is to|are to|to) be had", "is available", "where it cannot be had"),
    (r"(has|have|had|asks?|asked|given?) (for )?leave", "permission, may", "it has leave to open the file"),
    (r"leave to (open|read|write|do)", "permission to", "Leave to open a file is asked"),
    (r"(is|are|was|were) over(?= ?[,.;:)]|$| when| by| at once| may| in the| and)", "is complete, completes",
     "when the operation is over."),
    (r"what is over", "completed operations", "a list of what is over"),
    (r"without anybody'?s doing", "automatically", "known without anybody's doing"),
    (r"by hand of", "by, on", "by hand of a worker"),
    (r"held against", "compared with, validated against", "held against the model"),
    (r"in so far|so far as|insofar as", "if, when, as", "so far as they are known"),
    (r"all the same", "(usually nothing), still", "it may wait all the same"),
    (r"in the midst of", "during, while", "in the midst of a copy"),
    (r"for want of", "because there is no", "for want of a slot"),
    (r"lest", "so that … not", "lest it block"),
    (r"hence", "so", "hence the second ring"),
    (r"(there|where|here)(of|in|by|upon|from|with|unto)|whence|thence", "of it, in it", "the end thereof"),
    (r"befalls?|befell|betimes|forthwith|whilst|amongst|withal|anew|afresh|nought|albeit",
     "an everyday word", "tried anew"),
    (r"sees? to it(?! that each)", "ensures, makes sure", "the kernel sees to it that"),
    (r"mend(s|ed|ing)?", "fix", "mended, it belongs in the corpus"),
    (r"as ever", "as before, as usual", "ends the process, as ever"),
    (r"what (came|comes) of it", "the result", "counts what came of it"),
    (r"in vain", "without success", "a wait that was in vain"),
    (r"(goes|go|going|went) on (\w+ing|as|with)", "continues to, still", "the kernel goes on using the pages"),
    (r"is meant", "use …", "disk.sync_directory() is meant"),
    (r"no good", "invalid", "the input is no good"),
    (r"not so:", "say which condition failed", "not so: the sum is even"),
    (r"has to say|have to say", "must report", "what it has to say"),
    (r"(looks?|looked) at by nobody|nobody has looked at", "unchecked, untrusted", "bytes that nobody has looked at"),
    (r"ask(s|ed)? (it )?of the (system|file|kernel|engine|device)", "ask the …", "Alignment is asked of the file"),
    (r"of its own accord|by its own doing", "by itself", "of its own accord"),
    (r"(the )?other way round", "the other way around", "the other way round"),
]

# The same, but only for pages (Markdown): in code, and in the names of tests, these words have other uses.
PAGES = [
    (r"tells(?! (you|them|us|me|people|an administrator)\b)", "reports, shows, returns", "the file's change time tells"),
    (r"be told(?! (apart|from))", "is unknown, be reported", "whether it held cannot be told"),
    (r"told (of|about)", "reports", "counters that told of writes"),
    (r"(wait(s|ed|ing)? )(for )?awake", "spins", "durable writes are never waited for awake"),
    (r"(stands?|stood|standing) still", "is blocked", "a context stood still meanwhile"),
    (r"of the same kind and context", "say which kind, and which context", "overlapping ones of the same kind and context"),
    (r"(sync|write|read|one)s? behind (it|them|that|this|a (write|sync|read))", "after", "a write with a sync behind it"),
    (r"in front of (a|the) (later |next )?(sync|write|read)", "before", "in front of a later sync"),
    (r"beside each other", "at the same time, next to each other", "tasks that run beside each other"),
    (r"processor time", "CPU time", "cycles in the processor time"),
    (r"(has|have) not got", "lacks, does not have", "reads that the cache has not got"),
    (r"(resumes|calls|asks|waits for) (any|some|every)body", "name who", "before it resumes anybody"),
    (r"asks? (it|them|him) for it", "allow it", "to use the cache, ask it for it"),
    (r"as it comes", "as it completes, live", "the latency of one transfer, as it comes"),
]

# British spellings, likewise.
BRITISH = [
    (r"(initial|optim|serial|synchron|recogn|organ|normal|minim|maxim|general|special|random|final|parallel|real|"
     r"author|custom|util|summar|visual|memo|token|capital|emphas|prior|character|stabil|modular)is(e[sdr]?|ing|ations?)",
     "-ize, -ization", "Optimised, and initialised"),
    (r"\w*(behaviour|colour|favour|neighbour|flavour|honour|labour|rumour)\w*", "-or", "undefined behaviour"),
    (r"(centre|metre|litre|fibre(?! channel))s?", "-er", "the centre of it"),
    (r"(cancel|label|model|travel|signal|total|level|channel)l(ed|ing)", "one l", "a cancelled read"),
    (r"analys(e[sd]?|ing)", "analyze", "to analyse a run"),
    (r"(licence|defence|offence)s?", "-se", "under a licence"),
    (r"(learnt|spelt|burnt|dreamt|spoilt|leapt)", "-ed", "learnt from the waits"),
    (r"artefacts?|grey(?!hound)|programmes?|judgement|ageing|dialogues?|catalogued?|sceptic\w*|cheques?",
     "the American spelling", "the artefact"),
]

RULES = [(re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE), instead, example)
         for pattern, instead, example in PHRASES + BRITISH]
ANY = re.compile(rf"\b(?:{'|'.join(rule[0] for rule in PHRASES + BRITISH)})(?!\w)", re.IGNORECASE)  # faster
RULES_OF_PAGES = [(re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE), instead, example)
                  for pattern, instead, example in PAGES]


# The name of a test that a page quotes, which is the test's affair. It may take two lines.
QUOTED_TEST = re.compile(r'\*\(".*|^\s*".*')


def may_not_be_long(name: str, line: str, fenced: bool) -> bool:
    """What cannot be broken may be long: code, a row of a table, an address."""
    return name.endswith(".md") and not fenced and not line.startswith("|") and " " in line[20:COLUMNS]


def prose(path: pathlib.Path) -> str:
    """The text of a file. One that is not UTF-8, such as a program, has none."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def violations(name: str, text: str):
    """What is wrong in a file, as pairs of a line's number and a sentence."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS and may_not_be_long(name, line, fenced):
            yield number, f"{len(line)} columns; Markdown has at most {COLUMNS}"
        fenced ^= line.lstrip().startswith("```")
        if name.endswith(".md"):
            line = QUOTED_TEST.sub("", line)
        for pattern, instead, _ in RULES if ANY.search(line) else ():
            found = pattern.search(line)
            if found:
                yield number, f'"{found[0]}": write {instead}'
        for pattern, instead, _ in RULES_OF_PAGES if name.endswith(".md") else ():
            if found := pattern.search(line):
                yield number, f'"{found[0]}": write {instead}'


def missing_tests(text: str, tests: str):
    """The tests that a page quotes, and that `tests`, the text of all of them, does not have."""
    for quoted in re.findall(r'\*\(("[^*]*")\)\*', text):
        for name in re.findall(r'"([^"]*)"', quoted):
            if (name := " ".join(name.split())) not in tests:
                yield f'quotes a test that does not exist: "{name}"'


def headings(text: str) -> set:
    """The anchors of a page's headings, as GitHub names them."""
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-")
            for each in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def broken_links(page: pathlib.Path, text: str):
    """The relative links of a page that lead to no file, or to no heading of a page."""
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path = page.parent / target if target else page
        if target and not path.exists():
            yield f"links to a file that does not exist: {target}"
        elif anchor and path.suffix == ".md":
            if anchor[1:] not in headings(text if not target else path.read_text(encoding="utf-8")):
                yield f"links to a heading that does not exist: {target}{anchor}"


def wrong_excerpts(text: str, root: pathlib.Path):
    """The code of a page that names the example it is from, and that the example does not have in this form."""
    for name, code in re.findall(r"<!-- (example/\S+) -->\n```cpp\n(.*?)```\n", text, re.DOTALL):
        path = root / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        wanted = code.splitlines()
        for start in range(len(lines) - len(wanted) + 1):
            part = lines[start:start + len(wanted)]
            if textwrap.dedent("\n".join(part)).splitlines() == wanted:
                break
        else:
            yield f"shows code of {name} that the file does not have: {wanted[0]}"


def pages():
    """The pages whose links are checked. Those of docs/site/index.md are as in the root: Sphinx checks them."""
    yield from sorted(ROOT.glob("*.md"))
    for folder in ("docs", "example"):
        yield from (each for each in sorted((ROOT / folder).rglob("*.md")) if each.parent.name != "site")


def all_tests() -> str:
    """The text of the tests, with the literals joined that the formatter has split."""
    return "".join(re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))
                   for suffix in ("cpp", "hpp", "txt") for path in (ROOT / "test").rglob("*." + suffix)
                   if "corpus" not in path.parts)


def checked_files():
    """The files whose prose is checked, relative to the root."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if (path.is_file() and path.suffix in SUFFIXES and "/corpus/" not in name and "__pycache__" not in name and
                    (not name.startswith(NOT_CHECKED) or name == "docs/experiments/README.md")):
                yield name
    yield from ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def main() -> int:
    arguments = sys.argv[1:]
    shrink = "--shrink" in arguments
    if any(each.startswith("-") and each != "--shrink" for each in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    files = [pathlib.Path(each).resolve().relative_to(ROOT).as_posix() for each in arguments if each != "--shrink"]
    exempt = set(EXEMPT.read_text().split())
    count, clean = 0, {name for name in exempt if not (ROOT / name).exists()}
    for name in files or checked_files():
        found = list(violations(name, prose(ROOT / name)))
        if name in exempt and not files:
            if not found:
                clean.add(name)
            continue
        for number, sentence in found:
            print(f"{name}:{number}: {sentence}")
        count += len(found)
    tests = all_tests()
    for page in sorted((ROOT / "docs").glob("*.md")):
        for sentence in missing_tests(page.read_text(encoding="utf-8"), tests):
            print(f"docs/{page.name}: {sentence}")
            count += 1
    for page in pages() if not files else ():
        text = page.read_text(encoding="utf-8")
        for sentence in (*broken_links(page, text), *wrong_excerpts(text, ROOT)):
            print(f"{page.relative_to(ROOT)}: {sentence}")
            count += 1
    if shrink:
        EXEMPT.write_text("".join(f"{name}\n" for name in sorted(exempt - clean)))
    else:
        for name in sorted(clean):
            print(f"{name}: passes, and is still listed in test/prose/not_rewritten.txt: run test/prose/check.py --shrink")
        count += len(clean)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

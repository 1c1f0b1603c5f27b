#!/usr/bin/env python3
"""check.py PROJECT_DIRECTORY: compares the names that module/qio.cppm exports with those that the headers declare.

Each name in the namespace qio of include/qio is exported, but those of adapters to other libraries (ADAPTERS) and those
that only the library uses (INTERNAL); of qio::platform, those in PLATFORM are. Nothing else is. Prints each difference;
exit status 1 if there is one.
"""
import functools
import pathlib
import re
import sys

ADAPTERS = ["asio.hpp", "asio/", "boost_asio.hpp", "execution.hpp", "format.hpp"]
INTERNAL = {"completed_requests", "file_activity", "most_polled_bytes", "opcode", "polling_support", "request",
            "simulated_system", "wait_limit"}
PLATFORM = {"invalid_handle", "native_handle", "system_category"}

IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s+([\w:]+)\b.*", re.S)
TYPE = re.compile(r"(?:^|\s)(?:class|struct|enum(?:\s+class)?|concept)\s+(?:\[\[[^\]]*\]\]\s*|QIO_WARN_UNUSED\s+)*(\w+)")


def declarations(text: str):
    """The declarations of a header at the scope of a namespace: its namespace, and its text up to its body."""
    text = IGNORED.sub(" ", text)
    text = text.replace("QIO_BEGIN_NAMESPACE", "namespace qio {").replace("QIO_END_NAMESPACE", "}")
    namespaces, declaration, nested, at = [], "", 0, 0
    while at < len(text):
        each = text[at]
        at += 1
        if each in "()[]":
            nested += 1 if each in "([" else -1
        if nested != 0 or each not in "{};":
            declaration += each
            continue
        if each == "{" and (named := NAMESPACE.fullmatch(declaration)):
            namespaces.append(named[1])
        elif each == "{":
            depth = 1
            while depth != 0:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            # More of the declaration may follow a requires-expression or a value. A body ends it, and the semicolon
            # after that of a type has nothing to end.
            follows = text[at:].lstrip()[:1]
            if follows in (",", "&", "|", ")"):
                continue
            yield "::".join(namespaces), " ".join(declaration.split())
        elif each == ";" and declaration.strip():
            yield "::".join(namespaces), " ".join(declaration.split())
        elif each == "}":
            namespaces.pop()
        declaration = ""


def after_bracket(text: str, pair: str) -> str:
    """What follows the bracket that closes the first one of `pair` in the text."""
    depth = 0
    for at in range(text.index(pair[0]), len(text)):
        depth += {pair[0]: 1, pair[1]: -1}.get(text[at], 0)
        if depth == 0:
            return text[at + 1:].lstrip()
    return ""


def without_template(declaration: str) -> str:
    """The declaration without the parameters of a template and what these must fulfill."""
    while declaration.startswith("template"):
        declaration = after_bracket(declaration, "<>")
        if re.match(r"requires\s*\(", declaration):
            declaration = after_bracket(declaration, "()")
        elif declaration.startswith("requires"):
            declaration = after_bracket(declaration, "<>")
    return declaration


def name_of(declaration: str) -> str | None:
    """The name that is declared; None for an assertion, and for what a class declares."""
    rest = without_template(declaration)
    if rest.startswith("static_assert"):
        return None
    if rest.startswith("using"):
        return re.match(r"using\s+(?:[\w]+::)*(\w+)", rest)[1]
    if operator := re.search(r"\boperator\s*([^\s\w(]+)\s*\(", rest):
        return "operator" + operator[1]
    if found := TYPE.match(rest):
        return found[1]
    if re.match(r"[^()=]*?\w::\w+\s*\(", rest):
        return None  # a member, defined outside of its class
    function = re.match(r"(?:[^()=]|\[\[[^\]]*\]\])*?(\w+)\s*\(", rest)
    variable = re.match(r"[^()=]*?(\w+)\s*(?:\[\w*\]\s*)?(?:=|$)", rest)
    return (function or variable)[1]


@functools.cache
def names_in(text: str) -> list[tuple[str, str | None]]:
    """The namespace and the name of each declaration of a header."""
    return [(namespace, name_of(declaration)) for namespace, declaration in declarations(text)
            if namespace in ("qio", "qio::platform")]


def declared(files: dict[str, str]) -> dict[str, str]:
    """The public names of the headers, each with the header that declares it."""
    names = {}
    for file, text in files.items():
        if any(file == each or each.endswith("/") and file.startswith(each) for each in ADAPTERS):
            continue
        for namespace, name in names_in(text):
            if namespace == "qio" and name is not None and name not in INTERNAL:
                names[name] = file
            elif namespace == "qio::platform" and name in PLATFORM:
                names[f"platform::{name}"] = file
    return names


def differences(files: dict[str, str], module: str):
    """What is wrong with the module's list of names, given the headers as name to text."""
    exported = set(re.findall(r"^using qio::(.+);$", module, re.M))
    names = declared(files)
    for name in sorted(names.keys() - exported):
        yield f"{name}, of qio/{names[name]}, is not exported: add `using qio::{name};`, or the name to INTERNAL"
    for name in sorted(exported - names.keys()):
        yield f"{name} is exported, but no public header declares it"


def read(project: pathlib.Path) -> tuple[dict[str, str], str]:
    include = project / "include" / "qio"
    files = {path.relative_to(include).as_posix(): path.read_text(encoding="utf-8")
             for path in sorted(include.rglob("*.hpp"))}
    return files, (project / "module" / "qio.cppm").read_text(encoding="utf-8")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    files, module = read(pathlib.Path(sys.argv[1]))
    found = list(differences(files, module))
    for each in found:
        print(f"module/qio.cppm: {each}")
    print(f"{len(declared(files))} public names, {len(found)} differences")
    return bool(found) or not files


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""reference.py XML OUTPUT: writes the pages of the reference, from what Doxygen has read of the public headers.

One page for each public type, and one each for functions, enumerations and aliases. Fails if a public type has no place
in GROUPS, or no comment.
"""
import pathlib
import sys
import xml.etree.ElementTree as xml

# The types by what they are for. Each has a page.
GROUPS = {
    "Files": ["basic_file", "any_file", "open_options", "directory", "path_view", "alignment", "file_statistics"],
    "Modes": ["cached", "uncached", "direct", "mapped"],
    "Contexts": ["basic_context", "context_options", "posted_call", "wait_statistics"],
    "Operations and tasks": ["operation", "operation_slot", "operation_options", "deadline", "stop_reference", "task",
                             "task_scope", "first_finished", "unit"],
    "Memory": ["aligned_buffer", "mutable_buffer", "const_buffer"],
    "Results": ["error", "explanation", "fact", "salvaged", "unreadable"],
    "Engines": ["automatic", "uring", "pool", "iocp", "no_engine", "simulated", "simulated_disk", "simulation_options"],
}
# Public by necessity: what only the library's own parts, or an engine, use.
INTERNAL = {"request", "file_activity", "polling_support", "wait_limit", "simulated_system",
            "outcome_throw_as_system_error_with_payload"}


def types(index: xml.Element):
    """The types in the namespace qio, by their names without it, with the kind of each. No nested ones."""
    for each in index.iter("compound"):
        name = each.findtext("name", "")
        if each.get("kind") in ("class", "struct") and name.startswith("qio::") and "::" not in name[5:]:
            yield name[5:], each.get("kind"), each.get("refid")


def has_comment(directory: pathlib.Path, refid: str) -> bool:
    text = xml.parse(directory / f"{refid}.xml").find("compounddef")
    return any("".join(text.find(part).itertext()).strip() for part in ("briefdescription", "detaileddescription"))


def page(title: str, *directives: str) -> str:
    body = "\n".join(directives)
    return f"# {title}\n\n```{{eval-rst}}\n{body}\n```\n"


def members(directory: pathlib.Path, kind: str):
    """The namespace's members of a kind that have comments: their names, functions with the types of their arguments."""
    found = set()
    for each in xml.parse(directory / "namespaceqio.xml").iter("memberdef"):
        is_deleted = each.findtext("argsstring", "").replace(" ", "").endswith("=delete")
        has_brief = "".join(each.find("briefdescription").itertext()).strip()
        if each.get("kind") != kind or is_deleted or not has_brief or each.findtext("name") in INTERNAL:
            continue
        arguments = ["".join(one.find("type").itertext()) for one in each.findall("param")]
        found.add(each.findtext("name") + (f"({', '.join(arguments)})" if kind == "function" else ""))
    return sorted(found)


def main() -> int:
    directory, output = map(pathlib.Path, sys.argv[1:3])
    output.mkdir(parents=True, exist_ok=True)
    known = {name: (kind, refid) for name, kind, refid in types(xml.parse(directory / "index.xml").getroot())}
    problems = [f"{name}: has no place in GROUPS" for name in known
                if name not in INTERNAL and not any(name in group for group in GROUPS.values())]
    lines = ["# Reference", "", "From the comments of the public headers."]
    for group, names in GROUPS.items():
        lines += ["", f"```{{toctree}}", f":caption: {group}", ":maxdepth: 1"]
        for name in names:
            if name not in known:
                problems.append(f"{name}: is in GROUPS, but there is no such type")
                continue
            kind, refid = known[name]
            if not has_comment(directory, refid):
                problems.append(f"{name}: has no comment")
            text = page(name, f".. doxygen{kind}:: qio::{name}", "   :members:")
            (output / f"{name}.md").write_text(text, encoding="utf-8")
            lines.append(name)
        lines.append("```")
    for title, kind in (("Functions", "function"), ("Enumerations", "enum"), ("Aliases", "typedef")):
        names = members(directory, kind)
        (output / f"{title.lower()}.md").write_text(
            page(title, *(f".. doxygen{kind}:: qio::{name}\n" for name in names)), encoding="utf-8")
    lines += ["", "```{toctree}", ":caption: Free names", ":maxdepth: 1", "functions", "enumerations", "aliases", "```"]
    (output / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for each in problems:
        print(f"reference.py: {each}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

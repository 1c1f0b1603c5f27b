#!/usr/bin/env python3
"""reference.py XML OUTPUT: writes the pages of the reference, from what Doxygen has read of the public headers.

One page for each public type, and one each for functions, enumerations, aliases and concepts. Fails if a public type
has no place in GROUPS, or if a type or a public member has no comment.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

# The types by what they are for. Each has a page.
GROUPS = {
    "Files": ["basic_file", "any_file", "shared_file", "open_options", "directory", "path_view", "owned_path", "alignment", "atomic_write_limits",
              "file_statistics", "read_request", "write_request", "bounced_file", "bounce_options",
              "file_space", "file_locks", "extent", "copied",
              "file_cache", "file_views", "private_view", "residency"],
    "Names": ["name_options", "directory_options", "replace_options", "copy_file_options", "temporary_file", "temporary_directory",
              "temporary_options"],
    "Status and directories": ["file_attributes", "file_status", "file_id", "file_times", "time_change", "status_options",
                               "basic_directory_reader", "directory_entry", "listing_options", "walk_entry", "walk_options",
                               "remove_options"],
    "Modes": ["cached", "uncached", "direct", "mapped"],
    "Contexts": ["basic_context", "basic_asio_context", "context_options", "posted_call", "wait_statistics", "stall_statistics"],
    "Observers": ["operation_observer", "ended_operation", "latency_recorder", "latency_recorder_options",
                  "latency_statistics", "latency_histogram", "slow_operation", "trace_recorder", "traced_operation"],
    "Classes": ["io_scheduler", "io_scheduler_options", "io_scheduler_statistics", "io_class", "io_class_options",
                "io_class_statistics"],
    "Operations and tasks": ["operation", "operation_slot", "operation_options", "write_options", "write_and_sync",
                             "synced_write",
                             "blocking_write_options", "deadline", "stop_reference", "task", "task_scope",
                             "first_finished", "unit"],
    "Streams": ["reader", "reader_options", "writer", "writer_options", "finish_options"],
    "Logs": ["log_writer", "log_options", "shared_log", "shared_log_options", "log_operation", "log_record", "log_contents"],
    "Memory": ["aligned_buffer", "mutable_buffer", "const_buffer", "buffer_pool", "buffer_pool_options", "pooled_buffer",
               "pooled_buffer_awaiter", "bounce_pool", "bounce_pool_options",
               "bounce_statistics"],
    "Results": ["error", "explanation", "fact", "salvaged", "unreadable"],
    "Engines": ["linux_engine", "iocp", "pool", "simulated", "no_engine"],
    "Simulation": ["simulated_disk", "simulation_options", "recorded_order", "explore_crashes_options", "crash_exploration", "crash_failure"],
}
# The names that programs use for a template.
ALIASES = {
    "basic_directory_reader": ["directory_reader"],
    "basic_file": ["cached_file", "uncached_file", "direct_file", "mapped_file"],
    "basic_context": ["context"],
    "basic_asio_context": ["asio_context", "boost_asio_context"],
}
# The members of an engine are what the concept `engine` requires. A program calls none of them.
ENGINES = set(GROUPS["Engines"])
# Public by necessity: what only the library's own parts, or an engine, use.
INTERNAL = {"request", "file_activity", "polling_support", "wait_limit", "simulated_system",
            "outcome_throw_as_system_error_with_payload", "make_error_code"}
# What the language calls, and what is not a member: the name of a union's member in a private section.
PROTOCOL = {"await_ready", "await_suspend", "await_resume", "promise_type", "operation_"}
# What a page says of names that Doxygen does not see.
NOTES = {
    "functions": "`qio::success()` and `qio::failure()` make results: see [Errors](../docs/errors.md). "
                 "The functions in `qio::senders` are listed in [Senders](../docs/execution.md).\n",
    "basic_file": "`cached_file` is `basic_file<cached>`, and so on. The types of files on a context are called "
                  "`async_cached_file`, `async_uncached_file`, `async_direct_file` and `async_mapped_file`.\n",
    "basic_context": "`context` is `basic_context<default_engine>`.\n",
}


def types(index: xml.Element):
    """The types in the namespace qio, by their names without it, with the kind of each. No nested ones."""
    for each in index.iter("compound"):
        name = each.findtext("name", "")
        if each.get("kind") in ("class", "struct") and name.startswith("qio::") and "::" not in name[5:]:
            yield name[5:], each.get("kind"), each.get("refid")


def text_of(element: xml.Element, *parts: str) -> str:
    return " ".join("".join(element.find(part).itertext()) for part in parts).strip()


def has_comment(element: xml.Element) -> bool:
    return bool(text_of(element, "briefdescription", "detaileddescription"))


def needs_comment(member: xml.Element) -> bool:
    """Whether it is public, and not what every type of its kind has: a destructor, a default constructor."""
    name, arguments = member.findtext("name"), member.findtext("argsstring", "").replace(" ", "")
    is_default_constructor = not text_of(member, "type").replace("constexpr", "") and arguments.startswith("()")
    return member.get("prot") == "public" and not (
        name.startswith("~") or is_default_constructor and member.get("kind") == "function" or
        arguments.endswith("=delete") or member.get("kind") == "friend" or name in PROTOCOL or name in INTERNAL)


def undocumented(owner: str, compound: xml.Element):
    for each in compound.iter("memberdef"):
        if needs_comment(each) and not has_comment(each):
            where = each.find("location")
            yield f"{where.get('file')}:{where.get('line')}: {owner}::{each.findtext('name')} has no comment"


def link_pages(directory: pathlib.Path) -> None:
    """Makes links of the names of pages in comments."""
    for each in directory.glob("*.xml"):
        text = each.read_text(encoding="utf-8")
        linked = re.sub(r"docs/([a-z-]+)\.md", r'<ulink url="../docs/\1.html">\1</ulink>', text)
        if linked != text:
            each.write_text(linked, encoding="utf-8")


def open_first(directory: pathlib.Path) -> None:
    """Puts static functions, such as open(), in front of the others: Breathe shows sections with a header first."""
    for each in directory.glob("*.xml"):
        text = each.read_text(encoding="utf-8")
        moved = text.replace('<sectiondef kind="public-static-func">',
                             '<sectiondef kind="user-defined"><header>Static functions</header>')
        if moved != text:
            each.write_text(moved, encoding="utf-8")


def page(title: str, *directives: str, note: str = "") -> str:
    body = "\n".join(directives)
    return f"# {title}\n\n{note}\n```{{eval-rst}}\n{body}\n```\n"


def header_of(compound: xml.Element) -> str:
    path = compound.find("location").get("file")
    header = path[path.index("include/") + len("include/"):]
    return f"`#include <{header}>`\n"


def members(compound: xml.Element, kind: str):
    """The namespace's members of a kind: their names, functions with the types of their arguments."""
    found = set()
    for each in compound.iter("memberdef"):
        if each.get("kind") != kind or not needs_comment(each) or not has_comment(each):
            continue
        arguments = ["".join(one.find("type").itertext()) for one in each.findall("param")]
        found.add(each.findtext("name") + (f"({', '.join(arguments)})" if kind == "function" else ""))
    return sorted(found)


def main() -> int:
    directory, output = map(pathlib.Path, sys.argv[1:3])
    output.mkdir(parents=True, exist_ok=True)
    link_pages(directory)
    open_first(directory)
    index = xml.parse(directory / "index.xml").getroot()
    known = {name: (kind, refid) for name, kind, refid in types(index)}
    problems = [f"{name}: has no place in GROUPS" for name in known
                if name not in INTERNAL and not any(name in group for group in GROUPS.values())]
    lines = ["# Reference", "", "From the comments of the public headers. `#include <qio/qio.hpp>` has the types of files,",
             "contexts, operations, tasks, memory and results; other pages name the header they need."]
    listed = []
    for group, names in GROUPS.items():
        lines += ["", f"## {group}", ""]
        for name in names:
            if name not in known:
                problems.append(f"{name}: is in GROUPS, but there is no such type")
                continue
            kind, refid = known[name]
            compound = xml.parse(directory / f"{refid}.xml").find("compounddef")
            if not has_comment(compound):
                problems.append(f"{name}: has no comment")
            shown = "" if name in ENGINES else "   :members:"
            if name not in ENGINES:
                problems += undocumented(name, compound)
            names = ALIASES.get(name, [name])
            text = page(", ".join(names), f".. doxygen{kind}:: qio::{name}", shown,
                        note=header_of(compound) + "\n" + NOTES.get(name, ""))
            (output / f"{name}.md").write_text(text, encoding="utf-8")
            brief = text_of(compound, "briefdescription").split(". ")[0].rstrip(".:").replace("<", "&lt;")
            links = ", ".join(f"[`{each}`]({name}.md)" for each in names)
            lines.append(f"- {links}: {brief[0].lower() + brief[1:]}")
            listed.append(name)
    namespace = xml.parse(directory / "namespaceqio.xml").find("compounddef")
    problems += undocumented("qio", namespace)
    lines += ["", "## Free names", ""]
    for title, kind in (("Functions", "function"), ("Enumerations", "enum"), ("Aliases", "typedef"),
                        ("Concepts", "concept")):
        file = title.lower()
        names = members(namespace, kind) if kind != "concept" else [
            each.findtext("name")[5:] for each in index.iter("compound")
            if each.get("kind") == "concept" and "detail" not in each.findtext("name")]
        (output / f"{file}.md").write_text(
            page(title, *(f".. doxygen{kind}:: qio::{name}\n" for name in names), note=NOTES.get(file, "")),
            encoding="utf-8")
        shown = ", ".join(f"`{name}`" for name in dict.fromkeys(name.split("(")[0] for name in names))
        lines.append(f"- [{title}]({file}.md): {shown}")
        listed.append(file)
    lines += ["", "```{toctree}", ":hidden:", *listed, "```"]
    (output / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for each in problems:
        print(f"reference.py: {each}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

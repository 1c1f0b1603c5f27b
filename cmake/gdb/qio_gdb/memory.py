# SPDX-License-Identifier: BSL-1.0
"""How to read the memory of a program in gdb: names of types and functions, values in classes, lists.

What cannot be read, or makes no sense, becomes a sentence in parentheses.
"""
from __future__ import annotations

import functools
import re
from typing import Callable, Iterator

import gdb

MOST_MEMBERS = 1_000_000  # of a list; a longer one is corrupt
LONGEST_TEXT = 1024  # bytes of a path


class Unreadable(Exception):
    """Memory that makes no sense. The text says what was found."""


def reason(failure: Exception) -> str:
    return f"(unreadable: {(str(failure) or type(failure).__name__).splitlines()[0]})"


# Memory that is corrupt, unmapped, missing in a core file, or of another version of qio may cause any exception.

def attempt(read: Callable[..., str], *arguments: object) -> str:
    """The text that read() returns, or a sentence that says why there is none."""
    try:
        return read(*arguments)
    except Exception as failure:
        return reason(failure)


def known(read: Callable[..., object], default: object = None) -> object:
    """What read() returns; `default` if that cannot be read, or if this version of qio does not have it."""
    try:
        return read()
    except Exception:
        return default


# --- Names ---

REMEMBERED = []


def remembered(function: Callable) -> Callable:
    """Calls a function once for each argument, an address in the program's code, or a name."""
    REMEMBERED.append(functools.lru_cache(maxsize=4096)(function))
    return REMEMBERED[-1]


def forget(_: object) -> None:
    """A program was loaded, or has ended: the next one may be another."""
    FUNCTIONS.clear()
    for each in REMEMBERED:
        each.cache_clear()


for _events in (gdb.events.new_objfile, gdb.events.clear_objfiles, gdb.events.exited):
    _events.connect(forget)

# Everything in qio is in an inline namespace, which names the version and the configuration.
INLINE_NAMESPACE = re.compile(r"\bqio::v\d+_\w+::")


def short(name: str) -> str:
    """A name as a program writes it."""
    name = re.sub(r"\[abi:\w+\]", "", INLINE_NAMESPACE.sub("qio::", name))
    return re.sub(r"\bstd::__\w+::", "std::", name)


def namespace_of(value: gdb.Value) -> str:
    """The inline namespace of a type of qio, such as "qio::v0_1_0_uring_exceptions_no_checks::"."""
    found = INLINE_NAMESPACE.search(value.type.strip_typedefs().name or "")
    if found is None:
        raise Unreadable(f"{value.type} is no type of qio")
    return found.group()


def behind(text: str, begin: int) -> int:
    """The index behind the bracket that closes the one at `begin`."""
    depth = 0
    for index in range(begin, len(text)):
        if text[index] in "<({":
            depth += 1
        elif text[index] in ")}" or (text[index] == ">" and text[index - 1] != "-"):
            depth -= 1
            if depth == 0:
                return index + 1
    raise Unreadable(f"brackets in {text}")


def stem(of: gdb.Type) -> str | None:
    """The name of a class without the arguments of its template; None for a class within a template."""
    name = short(of.strip_typedefs().name or "")
    begin = name.find("<")
    if begin == -1:
        return name
    return name[:begin] if known(lambda: behind(name, begin)) == len(name) else None


@remembered
def symbol_at(address: int) -> str:
    """The name of the function or the variable at this address; empty if there is none."""
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    found = re.match(r"(.*?)(?: \+ \d+)? in section ", text)
    return found.group(1) if found else ""


FUNCTIONS: dict[int, str] = {}


def function_of(pointer: gdb.Value) -> str:
    """The name of the function, as the debugging information spells it, so that its types can be looked up."""
    address = int(pointer)
    if address not in FUNCTIONS:
        found = re.search(r"<(.*)>$", pointer.format_string(symbols=True))
        FUNCTIONS[address] = found.group(1) if found else symbol_at(address)
    return FUNCTIONS[address]


def variable(name: str) -> gdb.Value:
    """The variable with this full name, whatever the language of the selected frame is."""
    found = gdb.lookup_global_symbol(name) or gdb.lookup_static_symbol(name)
    if found is None:
        raise Unreadable(f"the program has no {short(name)}")
    return found.value()


@remembered
def variables(pattern: str) -> list[str]:
    """The names of the variables of qio whose names end so."""
    listing = gdb.execute(f"info variables -q {pattern}$", to_string=True)
    return sorted(set(re.findall(rf"(qio::v\d+_\w+::{pattern});", listing)))


def type_in(name: str, begin: str) -> gdb.Type | None:
    """The type that starts with `begin` in the name of a function: of a template, with its arguments."""
    start = name.find(begin)
    if start == -1:
        return None
    return gdb.lookup_type(name[start:behind(name, start + len(begin) - 1)])


# --- Values ---

def target(value: gdb.Value) -> gdb.Value:
    """What references and pointers lead to."""
    while value.type.strip_typedefs().code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR and int(value) == 0:
            raise Unreadable("a null pointer")
        value = value.referenced_value()
    return value


def leaf(value: gdb.Value, is_wanted: Callable[[int], bool]) -> gdb.Value | None:
    """The first member, or member of a member, whose type has a wanted code: smart pointers, handles and atomics of all
    standard libraries are classes around one value."""
    kind = value.type.strip_typedefs()
    if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return value if is_wanted(kind.code) else None
    for field in kind.fields():
        if hasattr(field, "bitpos"):  # otherwise it is static
            found = leaf(value[field], is_wanted)
            if found is not None:
                return found
    return None


def pointer(value: gdb.Value) -> gdb.Value:
    found = leaf(value, lambda code: code == gdb.TYPE_CODE_PTR)
    if found is None:
        raise Unreadable(f"no pointer in a {short(str(value.type))}")
    return found


def number(value: gdb.Value) -> int:
    found = leaf(value, lambda code: True)
    if found is None:
        raise Unreadable(f"no value in a {short(str(value.type))}")
    return int(found)


def enumerator(value: gdb.Value) -> str:
    for each in value.type.strip_typedefs().fields():
        if each.enumval == int(value):
            return each.name.rsplit("::", 1)[-1]
    raise Unreadable(f"{int(value)} is no {short(str(value.type.unqualified()))}")


def at(address: int, name: str) -> gdb.Value:
    return gdb.Value(address).cast(gdb.lookup_type(name).pointer()).dereference()


def at_type(address: int, kind: gdb.Type) -> gdb.Value:
    return gdb.Value(address).cast(kind.pointer()).dereference()


def word(address: int) -> int:
    """A pointer in memory."""
    return int(gdb.Value(address).cast(gdb.lookup_type("unsigned long").pointer()).dereference())


def as_request(value: gdb.Value) -> gdb.Value:
    """The request that is a base of an operation, a batch or a part of one."""
    if stem(value.type) == "qio::request":
        return value
    for each in value.type.strip_typedefs().fields():
        if each.is_base_class:
            found = known(lambda: as_request(value[each]))
            if found is not None:
                return found
    raise Unreadable(f"no request is in a {short(str(value.type))}")


def printable(text: bytes) -> str:
    """Text that other users may have chosen, without what controls a terminal: as the library's messages do."""
    shown = ""
    for each in text.decode("utf-8", "surrogateescape"):
        shown += each if each.isprintable() else "".join(
            f"\\x{byte:02x}" for byte in each.encode("utf-8", "surrogateescape"))
    return shown


def string(value: gdb.Value) -> str:
    """A std::string."""
    try:
        begin, size = int(value["_M_dataplus"]["_M_p"]), int(value["_M_string_length"])
    except gdb.error:  # another standard library, whose own printer knows it
        return printable(value.format_string().strip('"').encode())
    if size > 1 << 24:
        raise Unreadable(f"a string of {size} bytes")
    text = printable(gdb.selected_inferior().read_memory(begin, min(size, LONGEST_TEXT)).tobytes()) if size else ""
    return text if size <= LONGEST_TEXT else text + "..."


def members(chain: gdb.Value) -> Iterator[gdb.Value]:
    """The members of a detail::list."""
    member = chain.type.strip_typedefs().template_argument(0)
    end = int(chain["ends_"].address)
    before, hook = end, chain["ends_"]["after"]
    for _ in range(MOST_MEMBERS):
        if int(hook) == end:
            return
        if int(hook["before"]) != before:
            raise Unreadable(f"the links of a list disagree at {int(hook):#x}: it is corrupt, or is changing now")
        yield hook.cast(member.pointer()).dereference()
        before, hook = int(hook), hook["after"]
    raise Unreadable("a list does not end")


def chained(first: gdb.Value) -> Iterator[gdb.Value]:
    """The elements of a detail::queue, or of detail::arrivals, from the first one on."""
    for _ in range(MOST_MEMBERS):
        if int(first) == 0:
            return
        yield first.dereference()
        first = first["next"]
    raise Unreadable("a queue does not end")

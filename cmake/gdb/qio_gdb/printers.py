# SPDX-License-Identifier: BSL-1.0
"""The pretty-printers of qio's types, and the command `qio in-flight`."""
from __future__ import annotations

import re
from typing import Iterator

import gdb
import gdb.printing

from .memory import (MOST_MEMBERS, Unreadable, as_request, at_type, attempt, enumerator, known, leaf, members,
                     number, pointer, reason, short, stem, target)
from .requests import (Coroutine, Loop, chain_text, error_text, failed, loop_of, loops, of_file, outcome, path_text,
                       request_text, state_text, waiter_text, waiting, work_text)

MOST_SHOWN = 200  # requests of a file or a context that print shows; `qio in-flight` shows all


# --- Errors and results ---

class ErrorPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def to_string(self) -> str:
        return attempt(error_text, self.value)


class ResultPrinter:
    """result<T>, which is a class of Boost.Outcome."""

    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def held(self) -> gdb.Value | None:
        """The value; None if it has none, or is a result<void>."""
        if number(self.value["_state"]["_status"]) & 1 == 0:
            return None
        if self.value.type.strip_typedefs().template_argument(0).code == gdb.TYPE_CODE_VOID:
            return None
        return self.value["_state"]["_value"]

    def text(self) -> str:
        status = number(self.value["_state"]["_status"])
        if status & 3 not in (1, 2):
            raise Unreadable(f"a result with status {status}")
        return "success" if status & 1 else "failure: " + error_text(self.value["_error"])

    def to_string(self) -> str:
        return attempt(self.text)

    def children(self) -> Iterator[tuple[str, gdb.Value]]:
        held = known(self.held)
        if held is not None:
            yield "value", held


# --- Requests and operations ---

class RequestPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def text(self) -> str:
        request = as_request(self.value)
        work = work_text(request)
        loop = known(lambda: loop_of(int(request["activity"])) if int(request["activity"]) else None)
        return f"{work}; {state_text(request, loop)}"

    def to_string(self) -> str:
        return attempt(self.text)


def parts_of(batch: gdb.Value) -> list[gdb.Value]:
    parts = []
    each = batch["first_"]
    while int(each) != 0:
        if len(parts) == MOST_MEMBERS:
            raise Unreadable("the parts of a batch do not end")
        parts.append(each.dereference())
        each = each["following"]
    return parts


def has_member(kind: gdb.Type, name: str) -> bool:
    return any(each.name == name or (each.is_base_class and has_member(each.type, name)) for each in kind.fields())


class OperationPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value
        self.is_batch = has_member(value.type.strip_typedefs(), "unfinished_")

    def loop(self) -> Loop:
        return Loop(target(self.value["loop_"]))

    def work(self) -> str:
        if has_member(self.value.type.strip_typedefs(), "try_once"):
            return "lock of a range"
        if not self.is_batch:
            return work_text(as_request(self.value))
        return f"batch of {len(parts_of(self.value))}, {int(self.value['unfinished_'])} not complete"

    def state(self) -> str:
        request = as_request(self.value)
        stage = enumerator(self.value["stage_"])
        if stage != "started":
            if stage == "made":
                return "not started"
            return "completed" if self.is_batch and not failed(request) else outcome(request)
        if known(lambda: bool(self.value["is_waiting"]), False):
            where = "waits for a slot of the bounce_pool"
        elif self.is_batch and not self.value["needs_no_engine"]:
            where = "started"
        else:
            where = attempt(state_text, request, self.loop())
            if where == "not in flight":  # a lock, say, or an operation of several requests
                where = "started"
        return where + "".join(f"; {each}" for each in (known(lambda: waiter_text(request, self.loop()), ""),) if each)

    def to_string(self) -> str:
        return f"{attempt(self.work)}; {attempt(self.state)}"

    def children(self) -> Iterator[tuple[str, str]]:
        if not self.is_batch:
            return
        loop = known(self.loop)
        for index, part in enumerate(known(lambda: parts_of(self.value), ())[:MOST_SHOWN]):
            request = as_request(part)
            state = outcome(request) if known(lambda: bool(part["needs_no_engine"])) else attempt(
                state_text, request, loop)
            yield f"[{index}]", f"{attempt(work_text, request)}; {state}"


class SlotPrinter:
    """operation_slot."""

    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def text(self) -> str:
        if not self.value["has_value_"]:
            return "empty"
        return OperationPrinter(self.value["operation_"]).to_string()

    def to_string(self) -> str:
        return "operation_slot: " + attempt(self.text)


# --- Files and contexts ---

def shown(requests: Iterator[tuple[str, gdb.Value]], loop: Loop) -> Iterator[tuple[str, str]]:
    """Requests as children of a value, and why there are no more."""
    count = 0
    try:
        for name, each in requests:
            if count == MOST_SHOWN:
                yield "...", "more: see `qio in-flight`"
                return
            yield name or f"[{int(each.address):#x}]", request_text(as_request(each), loop)
            count += 1
    except Exception as failure:
        yield "...", reason(failure)


class FilePrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def mode(self) -> str:
        return (stem(self.value.type.strip_typedefs().template_argument(0)) or "").replace("qio::", "")

    def state(self) -> gdb.Value:
        return pointer(self.value["state_"])

    def loop(self) -> Loop | None:
        """None for a file without a context."""
        found = leaf(self.value["loop_"], lambda code: code == gdb.TYPE_CODE_PTR)
        return None if found is None else Loop(found.dereference())

    def facts(self) -> Iterator[str]:
        file = self.state()["file"]
        activity = file["activity"]
        yield f"{self.mode()} file {path_text(activity)}"
        policy = self.state()["mode"]
        if self.mode() in ("direct", "uncached") and not known(lambda: bool(policy[f"is_{self.mode()}"]), True):
            yield "which goes through the page cache instead"
        yield f"opened with access::{enumerator(activity['granted'])}"
        sharing = pointer(file["sharing"])
        is_shared = int(sharing) != 0 and number(sharing["users_"]) > 1
        yield f"handle {int(file['handle'])}" + (", which other files use" if is_shared else "")
        if int(sharing) != 0 and number(sharing["has_ended_"]):
            yield "closed by its shared_file"
        if activity["writes_durably"]:
            yield "each write durable"
        if known(lambda: number(activity["sync_failure"]["own_"]["first"]), 0):
            yield "a sync of it has failed"
        loop = self.loop()
        if loop is None:
            yield "without a context"
        else:
            yield f"on {loop.engine_text()}"
            others = sum(1 for name in ("retried", "waiting") for _ in known(lambda: members(activity[name]), ()))
            yield f"{int(activity['in_flight']) + others} in flight"

    def to_string(self) -> str:
        try:
            if int(self.state()) == 0:
                return f"{self.mode()} file, not open"
        except Exception as failure:
            return f"file {reason(failure)}"
        parts = []
        try:
            for each in self.facts():
                parts.append(each)
        except Exception as failure:
            parts.append(reason(failure))
        return ", ".join(parts)

    def children(self) -> Iterator[tuple[str, str]]:
        loop = known(self.loop)
        if loop is None or known(lambda: int(self.state()), 0) == 0:
            return iter(())
        return shown((("", each) for each in of_file(self.state()["file"]["activity"])), loop)


class AnyFilePrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def file(self) -> FilePrinter:
        """The file in the std::variant, that of libstdc++."""
        variant = self.value["file_"]
        kind = variant.type.strip_typedefs().template_argument(int(variant["_M_index"]))
        return FilePrinter(variant["_M_u"].address.cast(kind.pointer()).dereference())

    def to_string(self) -> str:
        return "any_file: " + attempt(lambda: self.file().to_string())

    def children(self) -> Iterator[tuple[str, str]]:
        file = known(self.file)
        return iter(()) if file is None else file.children()


class LoopPrinter:
    """A context, or its loop."""

    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def loop(self) -> Loop | None:
        if stem(self.value.type) == "qio::detail::loop":
            return Loop(self.value)
        found = pointer(self.value["loop_"])
        return None if int(found) == 0 else Loop(found.dereference())

    def text(self) -> str:
        loop = self.loop()
        if loop is None:
            return "context, moved from"
        closed = "closed " if loop.value["closed_"] else ""
        return f"{closed}context on {loop.engine_text()}, {attempt(loop.counts)}"

    def to_string(self) -> str:
        return attempt(self.text)

    def children(self) -> Iterator[tuple[str, str]]:
        loop = known(self.loop)
        if loop is None:
            return iter(())

        def requests() -> Iterator[tuple[str, gdb.Value]]:
            for each in loop.requests():
                yield path_text(each["activity"]), each

        return shown(requests(), loop)


# --- Tasks ---

class TaskPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def awaits(self, address: int) -> str:
        """What the coroutine waits for, directly or by way of other tasks."""
        for handle, what in waiting():
            chain = known(lambda: list(Coroutine(handle).chain()), [])
            for index, each in enumerate(chain):
                if each.address == address:
                    return what if index == 0 else f"awaits {chain[index - 1].text()}, and {chain[0].name()} {what}"
        return "runs, or waits for something else than operations, sleeps and tasks of qio"

    def text(self) -> str:
        handle = pointer(self.value["coroutine_"])
        if int(handle) == 0:
            return "empty: it has been moved from"
        coroutine = Coroutine(int(handle))
        if coroutine.is_finished:
            return f"{coroutine.text()}, finished"
        promise = at_type(int(handle) + 16, self.value["coroutine_"].type.strip_typedefs().template_argument(0))
        if int(pointer(promise["continuation_"])) == 0:
            return f"{coroutine.text()}, not started"
        return f"{coroutine.text()}, {attempt(self.awaits, int(handle))}"

    def to_string(self) -> str:
        return "task: " + attempt(self.text)


# --- Buffers ---

class BufferPrinter:
    def __init__(self, value: gdb.Value) -> None:
        self.value = value

    def text(self) -> str:
        name = (stem(self.value.type) or "").replace("qio::", "")
        if name == "aligned_buffer":
            data, size = int(self.value["data_"]), int(self.value["size_"])
            return f"{name} of {size} bytes at {data:#x}, aligned to {int(self.value['alignment_'])}"
        return f"{name} of {int(self.value['size'])} bytes at {int(self.value['data']):#x}"

    def to_string(self) -> str:
        return attempt(self.text)


PRINTERS = {
    "qio::error": ErrorPrinter,
    "qio::request": RequestPrinter,
    "qio::operation": OperationPrinter,
    "qio::operation_slot": SlotPrinter,
    "qio::basic_file": FilePrinter,
    "qio::any_file": AnyFilePrinter,
    "qio::basic_context": LoopPrinter,
    "qio::detail::loop": LoopPrinter,
    "qio::task": TaskPrinter,
    "qio::aligned_buffer": BufferPrinter,
    "qio::mutable_buffer": BufferPrinter,
    "qio::const_buffer": BufferPrinter,
}
RESULT = re.compile(r"^boost::outcome_v2\w*::(\w+::)*basic_result$")


class Printers(gdb.printing.PrettyPrinter):
    """`disable pretty-printer global qio` shows the members instead."""

    def __init__(self) -> None:
        super().__init__("qio")

    def __call__(self, value: gdb.Value) -> object | None:
        kind = value.type
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            kind, value = kind.target(), value.referenced_value()
        name = known(lambda: stem(kind.unqualified().strip_typedefs()))
        if name in PRINTERS:
            return PRINTERS[name](value)
        if name and RESULT.match(name):
            failure = known(lambda: stem(kind.strip_typedefs().template_argument(1)))
            return ResultPrinter(value) if failure == "qio::error" else None
        return None


# --- The command ---

def threads_of_workers() -> dict[int, str]:
    """Which thread carries out which request: the one that is in perform()."""
    found: dict[int, str] = {}
    selected, frame = gdb.selected_thread(), known(gdb.selected_frame)
    for thread in gdb.selected_inferior().threads():
        try:
            thread.switch()
            each = gdb.newest_frame()
            for _ in range(100):
                if each is None:
                    break
                if "detail::perform" in (each.name() or ""):
                    found[int(each.read_var("r").referenced_value().address)] = f"thread {thread.num}"
                    break
                each = each.older()
        except Exception:
            continue
    if selected is not None:
        selected.switch()
    if frame is not None and frame.is_valid():
        frame.select()
    return found


def listing(loop: Loop) -> Iterator[str]:
    """The lines about one context."""
    yield f"context {int(loop.value.address):#x} on {attempt(loop.engine_text)}: {attempt(loop.counts)}"
    try:
        for file in loop.files():
            lines = []
            try:
                for each in of_file(file):
                    lines.append(f"    {int(each.address):#x}: {request_text(as_request(each), loop)}")
            except Exception as failure:
                lines.append(f"    {reason(failure)}")
            if lines:
                yield f"  {path_text(file)}"
                yield from lines
        completed = [f"    {int(each.address):#x}: {request_text(as_request(each), loop)}; "
                     f"{path_text(each['activity'])}" for each in loop.completed()]
        if completed:
            yield "  completed"
            yield from completed
        sleepers = [f"    {attempt(lambda: chain_text(Coroutine(handle)))}, {until}"
                    for handle, until in loop.sleepers()]
        if sleepers:
            yield "  sleeping"
            yield from sleepers
    except Exception as failure:
        yield f"  {reason(failure)}"


def loops_of(expression: str) -> Iterator[Loop]:
    value = target(gdb.parse_and_eval(expression))
    kind = stem(value.type)
    if kind in ("qio::basic_context", "qio::detail::loop"):
        loop = LoopPrinter(value).loop()
    elif kind == "qio::basic_file":
        loop = FilePrinter(value).loop()
    elif kind == "qio::operation":
        loop = OperationPrinter(value).loop()
    else:
        raise Unreadable(f"{expression} is no context, file or operation of qio: its type is {short(str(value.type))}")
    if loop is None:
        raise Unreadable(f"{expression} has no context")
    return iter((loop,))


class QioCommand(gdb.Command):
    """Commands about files and operations of qio."""

    def __init__(self) -> None:
        super().__init__("qio", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class InFlightCommand(gdb.Command):
    """List what is in flight: of each context its files, their requests, and the coroutines that sleep.

qio in-flight [EXPRESSION]

Without EXPRESSION, of all contexts of the program. Otherwise of one: EXPRESSION is a context, or a file or an operation
of it, or a pointer or a reference to one of these."""

    def __init__(self) -> None:
        super().__init__("qio in-flight", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument: str, from_tty: bool) -> None:
        count = 0
        try:
            threads = threads_of_workers()
            for loop in loops_of(argument) if argument.strip() else loops():
                count += 1
                loop.threads = threads
                for line in listing(loop):
                    print(line)
        except Exception as failure:
            print(f"qio in-flight: {(str(failure) or type(failure).__name__).splitlines()[0]}")
            return
        if count == 0:
            print("qio in-flight: there is no context")


gdb.printing.register_pretty_printer(None, Printers(), replace=True)
QioCommand()
InFlightCommand()

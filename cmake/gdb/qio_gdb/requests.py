# SPDX-License-Identifier: BSL-1.0
"""What requests ask for, who waits for them, where they are, and how they end; coroutines, and contexts."""
from __future__ import annotations

import errno
import os
import re
from typing import Iterator

import gdb

from .memory import (MOST_MEMBERS, Unreadable, as_request, at, at_type, attempt, behind, chained, enumerator,
                     function_of, known, members, namespace_of, number, pointer, remembered, short, stem, string,
                     symbol_at, target, type_in, variable, variables, word)

FARTHEST = 4096  # bytes from a request to the end of its operation
MOST_LOOKED_AT = 1000  # requests, to find the one that a task awaits


# --- Errors ---

def stored_text(value: gdb.Value, number_of_text: int) -> str:
    """What failed, as "cannot open data.bin: ", if the program still remembers it."""
    if number_of_text == 0:
        return ""
    table = variable(namespace_of(value) + "detail::all_recent_failures")
    own = number_of_text ^ ((int(table.address) >> 4) * 0x9E3779B9 & 0xFFFFFFFF)
    texts = table["texts_"]
    kept = texts.type.range()[1] + 1
    if (int(table["last_"]) - own) % (1 << 32) >= kept or int(texts[own % kept]) == 0:
        return ""
    return string(texts[own % kept].dereference()) + ": "


def error_text(value: gdb.Value) -> str:
    category, code = int(value["category_"]), int(value["value_"])
    if category == 0:
        return "no error"
    given, needed = int(value["given_"]), int(value["needed_"])
    what = known(lambda: stored_text(value, int(value["failure_"])), "")
    if "qio_category" in symbol_at(category) + symbol_at(word(category)):
        kind = gdb.lookup_type(namespace_of(value) + "errc")
        numbers = f" (given {given}, needed {needed})" if given != 0 or needed != 0 else ""
        return f"{what}errc::{enumerator(gdb.Value(code).cast(kind))}{numbers}"
    name = errno.errorcode.get(code, "error")
    moved = f", after {given} bytes" if given != 0 else ""
    return f"{what}{name} ({code}: {os.strerror(code)}){moved}"


def failed(request: gdb.Value) -> bool:
    return int(request["failure"]["category_"]) != 0


# --- Coroutines ---

# What compilers append to the names of the functions that resume and destroy a coroutine, and call its promise.
CLONE = re.compile(r" ?(\[clone )?\.(actor|destroy|resume|cleanup)(\.\w+)*\]?$")
PROMISES = ("_Coro_promise", "__promise", "__p")


def without_arguments(name: str) -> str:
    """The name of a function without its parameters, its template's arguments and its result."""
    name = re.sub(r" const$", "", name)
    start = end = 0
    index = 0
    cut = ""
    while index < len(name):  # brackets as they are matched; the last group is the parameters
        if name.startswith("operator()", index):
            index += len("operator()")
            continue
        if name[index] in "<(" and index != 0 and name[index - 1] not in ": ":
            end = known(lambda: behind(name, index), len(name))
            if name[index] == "<" or end == len(name):
                cut += name[start:index]
                start = end
            index = end
        elif name[index] in "({<":
            index = known(lambda: behind(name, index), len(name))
        elif name[index] == " ":  # what comes before is the type of the result
            cut, start = "", index + 1
            index += 1
        else:
            index += 1
    return cut + name[start:]


@remembered
def coroutine_name(symbol: str) -> str:
    return short(without_arguments(CLONE.sub("", symbol))) + "()"


@remembered
def line_of(code: int) -> str:
    line = gdb.find_pc_line(code)
    return "" if line.symtab is None else f" at {os.path.basename(line.symtab.filename)}:{line.line}"


@remembered
def promise_of(code: int) -> gdb.Type | None:
    """The type of the promise: that of a variable of the function that resumes the coroutine."""
    block = gdb.block_for_pc(code)
    while block is not None and not block.is_global and not block.is_static:
        for each in block:
            if each.name in PROMISES:
                return each.type.strip_typedefs()
        if block.function is not None:
            return None
        block = block.superblock
    return None


class Coroutine:
    """A coroutine by the address of its frame, which begins with two functions: one resumes it, one destroys it."""

    def __init__(self, address: int) -> None:
        if address == 0:
            raise Unreadable("a null coroutine_handle")
        self.address = address
        resume, destroy = word(address), word(address + 8)
        self.is_finished = resume == 0
        self.code = destroy if self.is_finished else resume
        self.symbol = symbol_at(self.code)
        if CLONE.search(self.symbol) is None:
            raise Unreadable(f"no coroutine is at {address:#x}")

    def name(self) -> str:
        return coroutine_name(self.symbol)

    def text(self) -> str:
        """The name, and where the function begins."""
        return self.name() + line_of(self.code)

    def promise(self) -> gdb.Value | None:
        """It is behind the two functions."""
        kind = promise_of(self.code)
        return None if kind is None else at_type(self.address + 16, kind)

    def awaiting(self) -> Coroutine | None:
        """The coroutine that awaits this one, if both are of qio's kinds."""
        promise = self.promise()
        kind = None if promise is None else stem(promise.type)
        if kind == "qio::detail::task_promise":
            handle = int(pointer(promise["continuation_"]))
        elif kind == "qio::detail::started::promise_type":  # a task of when_all() or run()
            listener = promise["on_finish"]
            if "join_all::" not in symbol_at(int(listener["finished"])):
                return None
            handle = int(pointer(at(int(listener), namespace_of(promise) + "detail::join_all")["awaiting_"]))
        else:
            return None
        return None if handle == 0 else Coroutine(handle)

    def chain(self) -> Iterator[Coroutine]:
        """It, and those that await it directly or indirectly."""
        seen = set()
        each: Coroutine | None = self
        while each is not None and each.address not in seen:
            seen.add(each.address)
            yield each
            each = known(each.awaiting)


def chain_text(coroutine: Coroutine) -> str:
    names = [each.name() for each in list(coroutine.chain())[1:]]
    return coroutine.text() + "".join(f", in {each}" for each in names if not each.startswith("qio::detail::"))


# --- Requests: what they ask for, who waits for them, and where they are ---

def work_text(request: gdb.Value) -> str:
    """What a request asks for, and how much of that is done."""
    op = enumerator(request["op"])
    if op == "call":
        return "lock of a range" if is_repeated(request) else "call of a function"
    if op == "sync":
        return "sync of " + enumerator(request["sync"]).replace("_", " ")
    io = request["io"]
    total, done = int(io["total_"]), int(io["transferred_"])
    if done > total:
        raise Unreadable(f"{done} of {total} bytes are transferred")
    text = f"{'durable ' if is_durable(request) else ''}{op} of {total} bytes at {int(io['offset_'])}"
    if int(io["vector_"]["first"]) != 0:
        text += f" in {int(io['count_'])} buffers"
    return f"{text}, {done} done"


def is_repeated(request: gdb.Value) -> bool:
    """Whether the loop tries it again and again, as it does with locks: its completion calls the loop until then."""
    return is_held(request) and "::submit" in function_of(request["completed"])


FOREGROUND, PART = 1, 255  # of io_class
DURABLE = 2  # platform::durable: RWF_DSYNC on Linux. A constant of which programs often keep no name.


def is_durable(request: gdb.Value) -> bool:
    if enumerator(request["op"]) != "write":
        return False
    return int(request["flags"]) & DURABLE != 0 or bool(request["activity"]["writes_durably"])


def is_held(request: gdb.Value) -> bool:
    """Whether an engine has it, or is about to get it."""
    return int(request["after"]) != 0


def is_held_back(request: gdb.Value) -> bool:
    """Whether it has succeeded, and waits for other syncs of the file."""
    if enumerator(request["op"]) != "sync" and not (is_durable(request) and request["activity"]["writes_to_cache"]):
        return False
    return known(lambda: bool(request["sync_state"]["is_held_back"]), False)


def outcome(request: gdb.Value) -> str:
    """How a request has ended. The result of a function that was called is elsewhere."""
    if failed(request):
        return "failed: " + error_text(request["failure"])
    return "completed" if enumerator(request["op"]) == "call" else "succeeded"


def operation_of(request: gdb.Value, completed: gdb.Value) -> gdb.Value | None:
    """The operation that `completed`, the function of its request, belongs to."""
    block = known(lambda: gdb.block_for_pc(int(completed)))
    # A variable of the function itself, whose name may be that of several lambdas.
    kinds = [each.type.strip_typedefs().target() for each in block or () if each.name == "done"]
    kind = kinds[0] if kinds else type_in(function_of(completed), namespace_of(request) + "operation<")
    return None if kind is None else request.address.cast(kind.pointer()).dereference()


def owner_of(request: gdb.Value) -> tuple[str, gdb.Value, gdb.Value]:
    """What a request is of, if it is not an operation itself, the request of the operation, and what its completion
    calls."""
    names = namespace_of(request)
    name = function_of(request["completed"])
    if "batch::completed_one" in name:
        batch = as_request(target(at(int(request.address), names + "detail::batch_part")["owner"]))
        return "part of a batch", batch, batch["completed"]
    if "bounce" in name and "operation<" not in name:
        slot = at(int(request.address), names + "detail::bounce_transfer")["slot"]
        user = as_request(slot["user"].dereference())
        return "transfer of bounced()", user, user["completed"]
    if "call_back_part" in name:
        whole = target(at(int(request.address), names + "io_scheduler::queues::slot")["whole"])
        return "part of a background operation", whole, whole["completed"]
    if "::submit" in name:  # the loop's, until a lock has been taken
        return "", request, at(int(request.address), names + "detail::retried_request")["ended"]
    return "", request, request["completed"]


def handle_of(request: gdb.Value, loop: Loop) -> int:
    """The frame of the coroutine that awaits the operation; 0 if it calls back."""
    _, owner, completed = owner_of(request)
    if "await_suspend" not in symbol_at(int(completed)):
        return 0
    operation = known(lambda: operation_of(owner, completed))
    if operation is not None:
        return word(int(operation["storage_"].address))
    # The operation is of a type that cannot be looked up, because it depends on a lambda. It is somewhere behind the
    # request, and refers to the loop. Right behind that is the handle.
    for address in range(int(owner.address) + owner.type.sizeof, int(owner.address) + FARTHEST, 8):
        if word(address) == int(loop.value.address) and known(lambda: Coroutine(word(address + 8))) is not None:
            return word(address + 8)
    raise Unreadable("the type of the operation is unknown")


def waiter_text(request: gdb.Value, loop: Loop) -> str:
    """The coroutine or the callback that waits for a request, which has been started."""
    what, _, completed = owner_of(request)
    name = symbol_at(int(completed))
    if "await_suspend" in name:
        who = "awaited by " + attempt(lambda: chain_text(Coroutine(handle_of(request, loop))))
    elif "call_back<" in name:
        begin = name.find("call_back<") + len("call_back")
        callback = re.sub(r"\{lambda\(.*\)(#\d+)\}", r"{lambda\1}", short(name[begin + 1:behind(name, begin) - 1]))
        who = f"calls {callback}"
    else:
        who = ""
    return ", ".join(each for each in (what, who) if each)


WITH_WORKER = "with a worker thread"
IN_RING = "with the kernel (io_uring)"

# The lists of the engines, and where a request is that is in one of them.
LISTS = (
    (("backlog_",), "waits for a place in the engine"),
    (("reads_", "waiting"), "waits for a thread of the kernel"),
    (("cancels_",), IN_RING + ", its cancellation waits for a place"),
    (("cancelled_",), "canceled, completes in the next turn"),
    (("aio_", "waiting_"), "waits for a place in Linux AIO"),
    (("workers_", "queued_"), "waits for a worker thread"),
    (("arrivals_",), "completed by a worker thread, reported in the next turn"),
)
PLACES = {
    "kernel_thread": IN_RING + ", for one of its threads",
    "polled_ring": "with the kernel (polled ring)",
    "aio": "with the kernel (Linux AIO)",
    "workers": WITH_WORKER,
}


def of_file(activity: gdb.Value) -> Iterator[gdb.Value]:
    """The requests of a file: those that the engine has, locks that the loop tries again and again, and those that wait
    for the turn of their class."""
    for name in ("held", "retried", "waiting"):
        requests = known(lambda: activity[name])
        if requests is not None:
            yield from members(requests)


class Loop:
    """The event loop of a context."""

    def __init__(self, value: gdb.Value) -> None:
        self.value = value
        self.engine = pointer(value["engine_"]).dereference()
        self.threads: dict[int, str] = {}  # of workers, by the address of their requests, if somebody has looked
        self.listed: dict[int, str] | None = None
        self.unknown: set[str] = set()  # lists that could not be read

    def engine_text(self) -> str:
        kind = stem(self.engine.type)
        if kind == "qio::linux_engine":
            if self.engine["had_ring_"]:
                refused = int(self.engine["refusal_"]) != 0
                return "worker threads, because the kernel refuses its io_uring" if refused else "io_uring"
            return "Linux AIO" if self.engine["has_aio_"] else "worker threads"
        return {"qio::pool": "worker threads", "qio::simulated": "a simulated disk",
                "qio::iocp": "a completion port"}.get(kind or "", short(str(self.engine.type)))

    def files(self) -> Iterator[gdb.Value]:
        """The file_activity of each file that has had an operation."""
        return members(self.value["activities_"])

    def completed(self) -> Iterator[gdb.Value]:
        """Requests that have completed, and whose coroutine or callback has not run yet."""
        # An operation that is repeated is among them when it is due, and still in flight.
        return (each for each in chained(self.value["completed_"]["first_"]) if not is_held(each))

    def requests(self) -> Iterator[gdb.Value]:
        for file in self.files():
            yield from of_file(file)
        yield from self.completed()

    def counts(self) -> str:
        in_flight = sum(int(file["in_flight"]) for file in self.files())
        in_flight += known(lambda: int(self.value["retried_"]), 0)
        completed = sum(1 for _ in self.completed())
        return f"{in_flight} in flight" + (f", {completed} completed and not called back yet" if completed else "")

    def place(self, request: gdb.Value) -> str:
        """Where a request is that the engine has."""
        if FOREGROUND < int(request["class_number"]) < PART:
            return "waits for the turn of its class" if request["queued"] else "a part of it is in flight"
        if self.listed is None:
            self.listed = self.look_into_lists()
        address = int(request.address)
        if address in self.listed:
            return self.listed[address]
        kind = stem(self.engine.type)
        if kind == "qio::simulated":
            return "with the simulated disk" + (", or waits for a place" if "backlog_" in self.unknown else "")
        if kind == "qio::iocp" and enumerator(request["op"]) != "call":
            return "with the kernel (completion port)"
        where = WITH_WORKER
        if kind == "qio::linux_engine":
            where = PLACES.get(enumerator(request["place"]), where)
            is_for_ring = (int(self.engine["setup_"]["opcodes"]) >> int(request["op"])) & 1
            if enumerator(request["place"]) == "ring" and is_for_ring:
                where = IN_RING + (", or on its way there" if "ring_" in self.unknown else "")
        elif kind != "qio::pool":
            return "with the engine"
        if where == WITH_WORKER and "workers_" in self.unknown:
            return where + ", or waits for one"
        return f"{where} ({self.threads[address]})" if where == WITH_WORKER and address in self.threads else where

    def look_into_lists(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for path, sentence in LISTS:
            value = known(lambda: self.member(path))
            if value is None:  # another engine has it
                continue
            requests = known(lambda: list(self.listed_in(value)))
            if requests is None:
                self.unknown.add(path[0])
            for request in requests or ():
                found[int(request.address)] = sentence
        prepared = known(self.prepared)
        if prepared is None:
            self.unknown.add("ring_")
        for address in prepared or ():
            found.setdefault(address, "in the ring, handed to the kernel in the next turn")
        return found

    def member(self, path: tuple[str, ...]) -> gdb.Value:
        value = self.engine
        for each in path:
            value = value[each]
        return value

    def listed_in(self, value: gdb.Value) -> Iterator[gdb.Value]:
        kind = stem(value.type)
        if kind == "qio::detail::queue":
            return chained(value["first_"])
        if kind == "qio::detail::arrivals":
            return chained(pointer(value["head_"]))
        # A std::deque of pointers, which the printers of the standard library know.
        return (each.dereference() for _, each in gdb.default_visualizer(value).children())

    def prepared(self) -> list[int]:
        """The requests of entries of the ring that the kernel has not seen. A core file often lacks the ring."""
        ring = self.engine["ring_"]
        head, tail = int(ring["submission_head_"].dereference()), int(ring["tail_"])
        mask = int(ring["submission_mask_"])
        if (tail - head) % (1 << 32) > mask + 1:
            raise Unreadable("the submission queue is corrupt")
        entries = pointer(ring["entries_"])
        return [int(entries[(head + each) & mask]["user_data"]) for each in range((tail - head) % (1 << 32))]

    def sleepers(self) -> Iterator[tuple[int, str]]:
        """The frames of the coroutines that sleep, and until when."""
        todo = [self.value["timers_"]["root_"]]
        seen = set()
        while todo:
            timer = todo.pop()
            if int(timer) == 0 or int(timer) in seen:
                continue
            seen.add(int(timer))
            if len(seen) > MOST_MEMBERS:
                raise Unreadable("the timers do not end")
            todo += [timer["child"], timer["sibling"]]
            name = function_of(timer["expired"])
            for each in ("sleeping<", "stoppable_sleeping<"):
                kind = known(lambda: type_in(name, namespace_of(self.value) + "detail::" + each))
                if kind is not None:
                    sleeping = at_type(int(timer), kind)
                    seconds = number(timer["when"]) / 1e9
                    yield int(pointer(sleeping["waiting_"])), f"sleeps until {seconds:.3f} s of the context's clock"


def loops() -> Iterator[Loop]:
    """The loops of all contexts that have not been destroyed, of each copy of qio in the program."""
    if gdb.selected_thread() is None:
        raise Unreadable("there is no process and no core file")
    names = variables("detail::mailbox::open")
    if not names:
        raise Unreadable("the program has no contexts of qio, or no debugging information about them")
    for name in names:
        for each in members(variable(name)["mailboxes"]):
            # The engine is part of the name of the function that wakes the loop.
            kind = type_in(function_of(each["wake_"]), namespace_of(each) + "detail::loop<")
            if kind is None:
                raise Unreadable("the engine of a context is unknown, because its functions have no names")
            yield Loop(each.address.cast(kind.pointer()).dereference())


def loop_of(activity: int) -> Loop | None:
    """The loop of a file."""
    for loop in loops():
        if any(int(each.address) == activity for each in loop.files()):
            return loop
    return None


def state_text(request: gdb.Value, loop: Loop | None) -> str:
    """Where a request is, or how it has ended."""
    if is_held(request):
        if is_held_back(request):
            return "succeeded, and waits for other syncs of the file"
        if is_repeated(request):
            return "repeated by the context's thread until it succeeds"
        canceled = ", to be canceled" if number(request["cancel_requested"]) else ""
        return ("in flight" if loop is None else loop.place(request)) + canceled
    if loop is not None and any(int(each.address) == int(request.address) for each in loop.completed()):
        return outcome(request) + ", and is called back in the next turn"
    return "not in flight"


def request_text(request: gdb.Value, loop: Loop) -> str:
    waiter = known(lambda: waiter_text(request, loop), "")
    return "; ".join(each for each in (attempt(work_text, request), attempt(state_text, request, loop), waiter) if each)


def path_text(activity: gdb.Value) -> str:
    """The path of a file. Calls of functions, and operations that open files, have an activity without one."""

    def text() -> str:
        path = string(activity["path"])
        return f'"{path}"' if path else "(no path)"

    return attempt(text)


def waiting() -> Iterator[tuple[int, str]]:
    """The frames of all coroutines that wait for something of a context, and for what."""
    looked_at = 0
    for loop in loops():
        for each in loop.requests():
            looked_at += 1
            if looked_at > MOST_LOOKED_AT:
                raise Unreadable(f"what it awaits is not among the first {MOST_LOOKED_AT} requests in flight")
            request = as_request(each)
            handle = known(lambda: handle_of(request, loop), 0)
            if handle:
                file = path_text(request["activity"])
                yield handle, f"awaits on {file}: {attempt(work_text, request)}; {attempt(state_text, request, loop)}"
        for handle, what in loop.sleepers():
            yield handle, what

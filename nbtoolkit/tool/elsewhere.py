"""Calls on executors: what is handed over, what stands in for an argument, and what becomes of a worker that is lost.

Any concurrent.futures.Executor will do. Of the engines that hold data themselves two are known by their classes' names,
so that none is imported: a dask.distributed client or its executor, whose futures are arguments by reference, and an
ipyparallel view's, whose ``Reference("name")`` is one. They get the function and its arguments side by side and put
in what they hold; the notebook never sees it. An approval and the log stay in the notebook whatever runs the call; its
reports and its stop go to and fro beside it (``carrying``). A call whose worker is lost has run once, or as often as the
record says where its tool is idempotent.
"""

from __future__ import annotations

import asyncio
import inspect
import linecache
import re
import threading
import traceback
from concurrent.futures import BrokenExecutor
from contextvars import copy_context
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.schema.resolving import innermost
from nbtoolkit.tool.carrying import Carried, carried, executor_of, runner
from nbtoolkit.tool.orphans import guarded
from nbtoolkit.tool.progress import current_call
from nbtoolkit.tool.worker import BegunBeforeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Executor, Future

__all__ = ["TRIES", "Cluster", "Source", "is_elsewhere", "run", "stands_in"]

# Of a call that may be repeated: a worker that is lost three times over is lost because of the call.
TRIES = 3

_PROCESSES = "ProcessPoolExecutor"
_DISTRIBUTED = "ClientExecutor"
_IPYPARALLEL = "ViewExecutor"

# What cloudpickle puts in the place of a file's name.
_TRAVELLED = "<dynamic-code>"
_ANSI = re.compile(r"\x1b\[[\d;]*m")
# As IPython tells a traceback: the frame's head, then numbered lines, an arrow at the one that counts.
_HEAD = re.compile(r"^(?:File )?(?P<file>\S.*):(?P<line>\d+), in (?P<name>[\w.<>]+)\(", re.MULTILINE)
_ARROW = re.compile(r"^-+> *\d+ (.*)$", re.MULTILINE)


def _kind(executor: object) -> str:
    # By its class's name: importing the pool of processes costs more than making a tool, the engines seconds.
    names = {each.__name__ for each in type(executor).__mro__}
    if _is_client(executor):
        return _DISTRIBUTED
    return next((kind for kind in (_PROCESSES, _DISTRIBUTED, _IPYPARALLEL) if kind in names), "")


def _is_client(given: object) -> bool:
    """Whether it is a dask.distributed client, which makes executors and is none."""
    return any(each.__name__ == "Client" and each.__module__.startswith("distributed.") for each in type(given).__mro__)


def is_elsewhere(executor: object) -> bool:
    """Whether what a function returns has to travel between processes; of one that is still to be made nobody knows."""
    return bool(_kind(executor))


class Cluster(Protocol):
    """What isn't an executor and makes its own: a dask.distributed client."""

    def get_executor(self) -> Executor:
        """An executor on it."""


class Source:
    """Where a tool's executor comes from: it is there, or a function makes one, and another where that is lost."""

    def __init__(self, given: Executor | Cluster | Callable[[], Executor | Cluster]) -> None:
        if not callable(getattr(given, "submit", given)):
            raise DeveloperOrientedException(
                f"executor must be a concurrent.futures.Executor or a function that makes one, got {given!r}."
            )
        self._given = executor_of(given) if _is_client(given) else given
        self._made: Executor | None = None
        self._lock = threading.Lock()

    @property
    def can_renew(self) -> bool:
        """Whether another one can be made."""
        return isinstance(self._given, type) or not hasattr(self._given, "submit")

    def get(self) -> Any:
        """The executor."""
        if not self.can_renew:
            return self._given
        with self._lock:
            if self._made is None:
                make: Any = self._given
                made = make()
                if _is_client(made):
                    made = executor_of(made)
                if not hasattr(made, "submit"):
                    raise DeveloperOrientedException(
                        f"executor made {made!r}, which is no concurrent.futures.Executor."
                    )
                self._made = made
            return self._made

    def drop(self, lost: Executor) -> None:
        """Let the next call make another one."""
        with self._lock:
            if self._made is lost:
                self._made = None


def stands_in(executor: Executor, value: object, kind: Any) -> bool:
    """Whether a value is the engine's name for an instance of ``kind``; one whose type isn't known yet is believed."""
    name = type(value).__name__
    module = type(value).__module__.partition(".")[0]
    engine = _kind(executor)
    if engine == _IPYPARALLEL:
        return module == "ipyparallel" and name == "Reference"
    if engine != _DISTRIBUTED or module != "distributed" or name != "Future":
        return False
    result = getattr(value, "type", None)
    return not isinstance(result, type) or not isinstance(kind, type) or issubclass(result, kind)


class _LostError(Exception):
    """The worker or the executor is gone; ``told`` is what to say of it."""

    def __init__(self, told: Exception, *, again: bool) -> None:
        super().__init__(str(told))
        self.told = told
        #: Whether the same executor may still run it.
        self.again = again


async def run(
    source: Source,
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    name: str,
    *,
    is_idempotent: bool = False,
) -> Any:
    """What the function returns there; a worker that is lost and an engine that gives the call up are plain errors."""
    tries = 0
    while True:
        tries += 1
        executor = source.get()
        try:
            return await _once(executor, func, args, kwargs, name, is_idempotent=is_idempotent)
        except _LostError as lost:
            if not lost.again:
                source.drop(executor)
            if not is_idempotent or not (lost.again or source.can_renew):
                raise lost.told from lost.__cause__
            if tries == TRIES:
                more = f"{lost.told} It was tried {TRIES} times."
                raise _named(type(lost.told).__name__, more) from lost.__cause__
            _note(f"the worker of {name} was lost, so it was run again (try {tries + 1} of {TRIES})")


def _note(text: str) -> None:
    """Tell it in the call's record and log."""
    entry = getattr(current_call.get(), "entry", None)
    if entry is not None:
        entry.mended = (*entry.mended, text)


async def _once(
    executor: Executor,
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    name: str,
    *,
    is_idempotent: bool,
) -> Any:
    engine = _kind(executor)
    call = current_call.get()
    report = _nowhere if call is None else call.report
    beside = carried(executor, engine, name, report, once=not is_idempotent)
    future: Future[Any] | None = None
    try:
        with guarded(engine == _PROCESSES):
            future = _submit(executor, engine, beside, func, args, kwargs)
        beside.follow(future)
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            if future is not None:
                beside.stop(future)
            raise
        # Nobody here asked for it.
        told = _named(
            "Lost",
            f"The executor gave the call of {name} up: its connection was closed, its scheduler is gone, or what an "
            "argument names was released. Make a new executor and register the tool with it again.",
        )
        raise _LostError(told, again=False) from None
    except BrokenExecutor as lost:
        raise _LostError(type(lost)(_broken(name)), again=False) from lost
    except Exception as error:
        told_of = _told(error, engine, name)
        if told_of is None:
            _add_lines_of_cells(error, func)
            raise
        if type(told_of).__name__ in ("KilledWorker", "EngineError"):
            raise _LostError(told_of, again=True) from told_of.__cause__
        raise told_of from told_of.__cause__
    finally:
        beside.end()
        if beside.begun > 1:
            _note(f"workers of {name} were lost, and it began {beside.begun} times")


def _nowhere(_snapshot: dict[str, Any]) -> None:
    """A tool that is run without a call has nobody to report to."""


def _submit(
    executor: Executor,
    engine: str,
    beside: Carried,
    func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Future[Any]:
    job: Callable[..., Any]
    if engine not in (_DISTRIBUTED, _IPYPARALLEL):
        if beside.ticket is not None:
            return executor.submit(runner(engine, beside.name), beside.ticket, func, *args, **kwargs)
        job = partial(func, *args, **kwargs)
        if _shares_memory(executor):
            job = partial(copy_context().run, job)
        return executor.submit(job)
    # By position: what an engine's own submit takes by keyword would be taken from the function.
    bound = inspect.signature(func).bind(*args, **kwargs)
    named = {key: value for key, value in bound.kwargs.items() if _holds_reference(executor, value)}
    rest = {key: value for key, value in bound.kwargs.items() if key not in named}
    job = partial(func, **rest) if rest else func
    if engine == _DISTRIBUTED:
        # Each call that was decided on is one run, also where one like it is still there.
        named["pure"] = False
    if beside.ticket is not None:
        return executor.submit(runner(engine, beside.name), beside.ticket, job, *bound.args, **named)
    return executor.submit(job, *bound.args, **named)


def _shares_memory(executor: Executor) -> bool:
    """Whether it runs threads of this interpreter, which can have this call's context."""
    names = {each.__name__ for each in type(executor).__mro__}
    return "ThreadPoolExecutor" in names and "InterpreterPoolExecutor" not in names


def _holds_reference(executor: Executor, value: object) -> bool:
    if isinstance(value, list | tuple | set):
        return any(_holds_reference(executor, each) for each in value)
    if isinstance(value, dict):
        return any(_holds_reference(executor, each) for each in value.values())
    return stands_in(executor, value, object)


def _told(error: Exception, engine: str, name: str) -> Exception | None:
    """What to say instead of an error; None where it speaks for itself."""
    kind = type(error).__name__
    if kind == "KilledWorker" or isinstance(error, BegunBeforeError):
        times = getattr(error, "allowed_failures", 0) + 1
        if times == 1 or kind != "KilledWorker":
            return _named("KilledWorker", f"The worker that ran {name} is lost: {_DONE_IN_PART} Other workers go on.")
        return _named(kind, f"{times} workers that were to run {name} are lost, one after the other: {_DONE_IN_PART}")
    if engine == _IPYPARALLEL:
        return _of_engine(error, kind, name)
    text = str(error)
    if engine == _PROCESSES and (
        kind == "PicklingError" or text.startswith(("Can't pickle", "Can't get local object", "cannot pickle"))
    ):
        return _named(
            kind,
            f"{name}, an argument or its result can't travel to a process: {text}. A pool of processes takes functions "
            "that stand at the top of a module or cell, and values that pickle carries.",
        )
    if isinstance(error, RuntimeError) and text.startswith("cannot schedule new futures after"):
        return RuntimeError(
            f"The executor of {name} was shut down. Make a new one and register the tool with it again."
        )
    return None


def _of_engine(error: Exception, kind: str, name: str) -> Exception | None:
    several = getattr(error, "elist", None)
    first = several[0] if several else (getattr(error, "ename", ""), getattr(error, "evalue", ""), "")
    what, why = str(first[0]), str(first[1])
    if "EngineError" in (kind, what):
        return _named("EngineError", f"The engine that ran {name} is lost: {_DONE_IN_PART} Start engines anew.")
    if kind == "NoEnginesRegistered":
        return _named(kind, f"There is no engine to run {name}: none was started, or all are lost. Start engines anew.")
    if not what:
        return None
    told = _named(what, why)
    told.__cause__ = _Traceback(_ipythons(str((first[2] if several else getattr(error, "traceback", "")) or "")))
    return told


class _Traceback(Exception):  # noqa: N818 - only carries text, as multiprocessing's does
    """A worker's traceback, as the text that Python itself would have written."""

    def __init__(self, frames: Iterable[tuple[str, int, str, str]]) -> None:
        self.tb = "".join(
            f'  File "{file}", line {number}, in {name}\n    {line}\n' for file, number, name, line in frames if line
        )
        super().__init__(self.tb)


def _ipythons(text: str) -> Iterator[tuple[str, int, str, str]]:
    """The frames of a traceback as IPython writes it: file, number, name and line."""
    text = _ANSI.sub("", text)
    heads = list(_HEAD.finditer(text))
    for head, after in zip(heads, [*heads[1:], None], strict=True):
        number = int(head["line"])
        # A cell's lines are known here, not there.
        line = linecache.getline(head["file"], number).strip()
        if not line and (arrow := _ARROW.search(text[head.end() : after.start() if after else len(text)])):
            line = arrow[1].strip()
        yield head["file"], number, head["name"].rpartition(".")[2], line


def _add_lines_of_cells(error: BaseException, func: Callable[..., Any]) -> None:
    """Give an error the lines of functions that travelled as code: their frames come back without a file."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _TRAVELLED]
    if not frames or error.__cause__ is not None:
        return
    files = _files(innermost(func))
    found = [(files[frame.name], frame.lineno or 0, frame.name) for frame in frames if frame.name in files]
    error.__cause__ = _Traceback((*each, linecache.getline(each[0], each[1]).strip()) for each in found)


def _files(func: Any) -> dict[str, str]:
    """The files of the code that a function may run: its own, what it defines, what it calls by a global name."""
    files: dict[str, str] = {}
    codes = [getattr(func, "__code__", None)]
    known = getattr(func, "__globals__", {})
    while codes:
        code = codes.pop()
        if code is None or code.co_name in files:
            continue
        files[code.co_name] = code.co_filename
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        codes += [getattr(known.get(name), "__code__", None) for name in code.co_names]
    return files


def _named(kind: str, text: str) -> Exception:
    """An error that reads as one of that name; its own class may want other arguments, or be unknown here."""
    made: Exception = type(kind, (RuntimeError,), {"__module__": "builtins"})(text)
    return made


_DONE_IN_PART = "it was killed or ran out of memory. What it did until then stands, and isn't known."


def _broken(name: str) -> str:
    return (
        f"The worker that was to run {name} is lost: it was killed, ran out of memory, or doesn't know the function. A "
        "process knows what a module holds, or what was defined before it was forked. Make a new executor and register "
        "the tool with it again. A function that makes one, as executor, makes the next one too."
    )

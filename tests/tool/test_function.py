"""What a function's results and streams come to, and what is refused at making a tool."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.message import DataBlock, TextBlock, ToolResultState
from nbtoolkit.permission.rule import PermissionBehavior, PermissionContext, PermissionDecision
from nbtoolkit.state import AgentState
from nbtoolkit.tool import stream
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.content import KEPT, MAX_PICTURES, cut
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from nbtoolkit.tool.toolkit import Toolkit
from tests.tool import workers

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def toolkit_of(tool: Any) -> Toolkit:
    toolkit = Toolkit(tools=[tool])
    toolkit.mode = "bypass"
    return toolkit


def response_of(func: Callable[..., Any], **options: Any) -> ToolResponse:
    async def called() -> ToolResponse:
        return await toolkit_of(FunctionTool(func, name="probe", **options)).call("probe")

    return run(called())


def shapes(response: ToolResponse) -> list[str]:
    return [block.text if isinstance(block, TextBlock) else "picture" for block in response.content]


class Drawn:
    def _repr_png_(self) -> bytes:
        return b"\x89PNG"


# ---------------------------------------------------------------------- a stream's text is bounded
@pytest.mark.parametrize("length", [0, 65, 66, 67, 99, 100, 101, 150, 5000])
@pytest.mark.parametrize("piece", [1, 7, 33, 34, 66, 100, 101, 5000])
def test_a_streamed_text_reads_as_the_same_text_returned_whole(length: int, piece: int) -> None:
    text = "".join(chr(97 + i % 26) for i in range(length))

    def pieces() -> Iterator[str]:
        for start in range(0, max(length, 1), piece):
            yield text[start : start + piece]

    response = response_of(pieces, max_result_chars=100)
    assert response.text == cut(text, 100, KEPT)
    assert response.value == text
    assert len(response.content) <= 1


@pytest.mark.parametrize("make", [str, ToolChunk.of])
def test_fifty_long_pieces_are_cut_in_the_middle_with_a_count(make: Callable[[str], Any]) -> None:
    def pieces() -> Iterator[Any]:
        for i in range(50):
            yield make(chr(65 + i) * 10_000)

    text = response_of(pieces).text
    assert text.startswith("A" * 10_000)
    assert text.endswith(chr(65 + 49) * 6_667)
    assert "480,000 of 500,000 characters left out" in text
    assert len(text) < 20_100


def test_objects_in_a_stream_count_as_text_too_and_each_begins_a_line() -> None:
    def rows() -> Iterator[Any]:
        yield "rows:"
        yield 1
        yield 2
        yield {"a": 1}
        yield "end"

    assert response_of(rows).text == 'rows:\n1\n2\n{"a": 1}\nend'

    def many() -> Iterator[dict[str, str]]:
        for _ in range(100):
            yield {"text": "x" * 1000}

    assert len(response_of(many).text) < 20_100


def test_memory_does_not_grow_with_a_stream() -> None:
    def endless() -> Iterator[str]:
        for i in range(2000):
            yield chr(97 + i % 26) * 100_000

    tracemalloc.start()
    try:
        response = response_of(endless)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(response.text) < 20_100
    # 200 MB went by.
    assert peak < 60_000_000


def test_the_value_of_a_stream_is_whole_or_nothing_and_the_text_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    def pieces() -> Iterator[str]:
        for _ in range(10):
            yield "x" * 50

    held = response_of(pieces, max_result_chars=100)
    assert held.value == "x" * 500
    assert "the whole is kept in toolkit.results" in held.text
    monkeypatch.setattr(stream, "MAX_KEPT", 300)
    passed = response_of(pieces, max_result_chars=100)
    assert passed.value is None
    assert "400 of 500 characters left out …" in passed.text


def test_a_streams_own_result_is_its_value_and_stands_at_the_end_of_what_is_cut() -> None:
    def pieces() -> Iterator[str]:
        for _ in range(10):
            yield "x" * 50
        return {"rows": 3}  # type: ignore[return-value]

    response = response_of(pieces, max_result_chars=100)
    assert response.text.endswith('x\n{"rows": 3}')
    assert response.value == {"rows": 3}
    assert "kept" not in response.text


def test_past_the_head_chunks_report_progress_which_the_response_does_not_keep() -> None:
    def pieces() -> Iterator[str]:
        for i in range(10):
            yield f"line {i}\n" + "x" * 43

    async def collected() -> list[Any]:
        tool = FunctionTool(pieces, max_result_chars=100)
        return [each async for each in toolkit_of(tool).call("pieces")]

    *chunks, response = run(collected())
    reports = [chunk.metadata["mcp_progress"] for chunk in chunks if chunk.metadata]
    assert [report["progress"] for report in reports] == list(range(100, 501, 50))
    assert reports[-1]["message"] == "x" * 43
    assert response.metadata == {}


def test_past_the_head_chunks_that_the_function_made_report_what_goes_by_too() -> None:
    def pieces() -> Iterator[ToolChunk]:
        for i in range(10):
            yield ToolChunk.of("x" * 43 + f"\nline {i}\n")
            yield ToolChunk(metadata={"mcp_progress": {"progress": i, "total": 10, "message": "own"}})

    async def collected() -> list[Any]:
        tool = FunctionTool(pieces, max_result_chars=100)
        return [each async for each in toolkit_of(tool).call("pieces")]

    *chunks, response = run(collected())
    said = [chunk.metadata["mcp_progress"]["message"] for chunk in chunks if chunk.metadata]
    assert [each for each in said if each != "own"] == [f"line {i}" for i in range(2, 10)]
    assert said.count("own") == 10
    assert response.metadata == {}


def test_what_was_held_back_stands_before_the_error_that_ends_a_stream() -> None:
    def pieces() -> Iterator[str]:
        yield "x" * 90
        raise ValueError("no more")

    text = response_of(pieces, max_result_chars=100).text
    assert text.startswith("x" * 90 + "\nValueError: no more")


async def _async_pieces() -> AsyncIterator[str]:
    for letter in "xyz":
        yield letter * 100
    await asyncio.Event().wait()


def _pieces() -> Iterator[str]:
    for letter in "xyz":
        yield letter * 100
    raise KeyboardInterrupt


class Streaming(ToolBase):
    name = "probe"
    description = "Streams."
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012
    max_result_chars = 100

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(PermissionBehavior.ALLOW, "yes")

    async def call(self, /, **kwargs: Any) -> AsyncIterator[ToolChunk]:
        async for piece in _async_pieces():
            yield ToolChunk(content=[TextBlock(text=piece)], is_last=False)


@pytest.mark.parametrize("kind", ["async", "thread", "class"])
def test_a_stream_that_is_stopped_gives_what_it_had_held_back(kind: str) -> None:
    made: dict[str, ToolBase] = {
        "async": FunctionTool(_async_pieces, name="probe", max_result_chars=100),
        "thread": FunctionTool(_pieces, name="probe", max_result_chars=100, thread=True),
        "class": Streaming(),
    }
    tool = made[kind]

    async def stopped() -> ToolResponse:
        call = toolkit_of(tool).call("probe")
        task = asyncio.create_task(call.complete())
        while "y" not in (call.response.text if call.response else "") and not task.done():
            if call.response and "…" in call.response.text:
                call.cancel()
                break
            await asyncio.sleep(0)
        with contextlib.suppress(KeyboardInterrupt):
            await task
        assert call.response is not None
        return call.response

    response = run(stopped())
    assert response.state is ToolResultState.INTERRUPTED
    head, _, rest = response.text.partition(" characters left out …\n")
    assert head.startswith("x" * 66 + "\n… ")
    assert rest.endswith("\nThe call was interrupted before it ended.")
    assert set(rest.partition("\n")[0]) <= set("xyz")


def test_a_consumer_gets_the_cancellation_and_the_response_what_was_held_back() -> None:
    async def cancelled() -> tuple[list[str], str]:
        call = toolkit_of(FunctionTool(_async_pieces, name="probe", max_result_chars=100)).call("probe")
        got: list[str] = []
        third = asyncio.Event()

        async def consume() -> None:
            async for each in call:
                got.extend(block.text for block in each.content if isinstance(block, TextBlock))
                if each.metadata:
                    third.set()

        task = asyncio.create_task(consume())
        await third.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert call.response is not None
        return got, call.response.text

    got, text = run(cancelled())
    assert "".join(got) == "x" * 66 + "\n…"
    assert text.endswith("z" * 34 + "\nThe call was interrupted before it ended.")


def test_a_tools_own_blocks_are_bounded_too() -> None:
    class Large(Streaming):
        async def call(self, /, **kwargs: Any) -> ToolChunk:  # type: ignore[override]
            return ToolChunk(content=[TextBlock(text="a" * 60), TextBlock(text="b" * 60)]).with_value("kept")

    async def called(tool: ToolBase) -> tuple[ToolResponse, list[Any]]:
        toolkit = toolkit_of(tool)
        return await toolkit.call("probe"), [each async for each in toolkit.call("probe")]

    response, (*chunks, last) = run(called(Large()))
    assert response.text == "a" * 60 + "b" * 6 + f"\n… 20 of 120 characters left out{KEPT} …\n" + "b" * 34
    assert response.value == "kept"
    assert last.text == response.text
    assert "".join(block.text for chunk in chunks for block in chunk.content) == response.text
    assert [chunk.is_last for chunk in chunks] == [False, True]

    class Small(Large):
        max_result_chars = 120

    response, (chunk, _) = run(called(Small()))
    assert response.text == "a" * 60 + "b" * 60
    assert len(chunk.content) == 2


# ---------------------------------------------------------------------- the order of what comes
def test_text_after_a_picture_stays_after_it() -> None:
    def mixed() -> Iterator[Any]:
        yield "a"
        yield Drawn()
        yield "b"
        yield "c"
        yield DataBlock.model_validate({"source": {"type": "url", "url": "https://example.org/x", "media_type": "x/y"}})
        yield "d"

    assert shapes(response_of(mixed)) == ["a", "picture", "bc", "picture", "d"]


def test_the_order_stays_where_the_text_is_cut() -> None:
    def mixed() -> Iterator[Any]:
        yield "a" * 90
        yield Drawn()
        yield "b" * 20

    first, *_, last = shapes(response_of(mixed, max_result_chars=100))
    assert (first[:66], last) == ("a" * 66, "b" * 20)
    assert "picture" in shapes(response_of(mixed, max_result_chars=100))


def test_pictures_past_a_number_are_counted_only() -> None:
    def pictures() -> Iterator[Any]:
        for _ in range(MAX_PICTURES + 5):
            yield Drawn()

    *pictures_shown, last = shapes(response_of(pictures))
    assert pictures_shown == ["picture"] * MAX_PICTURES
    assert "5 more pictures left out" in last


def test_nothing_yielded_adds_nothing() -> None:
    def quiet() -> Iterator[str | None]:
        yield "a"
        yield None
        yield "b"

    response = response_of(quiet)
    assert (response.text, response.value) == ("ab", "ab")

    async def silent() -> AsyncIterator[None]:
        yield None

    assert response_of(silent).text == "done, nothing returned"


def test_half_a_character_does_not_keep_a_response_from_being_written() -> None:
    def pieces() -> Iterator[str]:
        yield "a\udcff"

    response = response_of(pieces)
    assert response.text == "a\\udcff"
    assert ToolResponse.model_validate_json(response.model_dump_json()).text == response.text


# ---------------------------------------------------------------------- the loop and the threads
def test_a_generator_that_never_waits_lets_the_loop_run() -> None:
    ticked: list[bool] = []

    def busy() -> Iterator[str]:
        end = time.monotonic() + 10
        while not ticked and time.monotonic() < end:
            yield ""

    async def busy_async() -> AsyncIterator[str]:
        for item in busy():
            yield item

    async def beside(func: Callable[..., Any]) -> None:
        ticked.clear()
        call = asyncio.ensure_future(toolkit_of(FunctionTool(func, name="busy")).call("busy").complete())
        await asyncio.sleep(0)
        ticked.append(True)
        assert not call.done()
        await call

    run(beside(busy))
    run(beside(busy_async))


@pytest.mark.parametrize("pooled", [False, True])
def test_a_timeout_ends_a_generator_in_a_thread_that_closes_it_there(*, pooled: bool) -> None:
    inside, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    where: list[threading.Thread] = []

    def slow() -> Iterator[str]:
        try:
            yield "a"
            inside.set()
            go_on.wait(20)
            yield "b"
        finally:
            where.append(threading.current_thread())
            closed.set()

    async def timed(**options: Any) -> ToolResponse:
        call = toolkit_of(FunctionTool(slow, **options)).call("slow")
        task = asyncio.ensure_future(call.complete())
        assert await asyncio.to_thread(inside.wait, 20)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await task
        assert call.response is not None
        return call.response

    with ThreadPoolExecutor(1) as pool:
        response = run(timed(executor=pool) if pooled else timed(thread=True))
        assert response.state is ToolResultState.INTERRUPTED
        assert response.text.startswith("a")
        assert not closed.is_set()
        go_on.set()
        assert closed.wait(20)
    assert where != [threading.main_thread()]


@pytest.mark.parametrize("pooled", [False, True])
def test_a_generator_in_a_thread_that_is_left_early_is_closed_there(*, pooled: bool) -> None:
    where: list[threading.Thread] = []

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "x"
        finally:
            where.append(threading.current_thread())

    async def left(**options: Any) -> None:
        calls = toolkit_of(FunctionTool(endless, **options)).call("endless").__aiter__()
        await anext(calls)
        await calls.aclose()  # type: ignore[attr-defined]

    with ThreadPoolExecutor(1) as pool:
        run(left(executor=pool) if pooled else left(thread=True))
    assert len(where) == 1
    assert where != [threading.main_thread()]


# ---------------------------------------------------------------------- making and calling
def test_a_tool_that_wants_the_state_without_a_place_for_it_is_refused_at_making() -> None:
    def plain(a: int) -> int:
        """Add."""
        return a

    def stateful(a: int, _agent_state: AgentState) -> bool:
        """Look."""
        return isinstance(_agent_state, AgentState)

    def open_to_all(**kwargs: int) -> list[str]:
        """Look."""
        return sorted(kwargs)

    with pytest.raises(DeveloperOrientedException, match=r"plain: is_state_injected=True, but .* _agent_state"):
        FunctionTool(plain, is_state_injected=True)

    async def called(func: Callable[..., Any], **arguments: Any) -> Any:
        tool = FunctionTool(func, name="look", is_state_injected=True)
        return (await toolkit_of(tool).call("look", **arguments)).value

    assert run(called(stateful, a=1)) is True
    assert run(called(open_to_all, a=1)) == ["_agent_state", "a"]


def test_a_function_may_have_an_argument_named_self() -> None:
    def greet(self: str) -> str:
        """Greet."""
        return f"hello {self}"

    async def called() -> Any:
        return await FunctionTool(greet).call(self="you")

    chunk = run(called())
    assert isinstance(chunk, ToolChunk)
    assert chunk.value == "hello you"


# ---------------------------------------------------------------------- another process
def test_a_pool_of_processes_runs_the_function_and_a_lost_worker_is_said() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        toolkit = Toolkit(tools=[FunctionTool(func, executor=pool) for func in (workers.double, workers.vanish)])
        toolkit.mode = "bypass"
        assert toolkit.call_sync("double", n=4).value == 8
        failed = toolkit.call_sync("double", n=-1)
        assert failed.state is ToolResultState.ERROR
        first, line = failed.text.split("\n")
        assert first == "ValueError: -1 is negative"
        assert line.endswith('in double: raise ValueError(f"{n} is negative")')
        lost = toolkit.call_sync("vanish")
        assert lost.state is ToolResultState.ERROR
        assert "BrokenProcessPool: The worker that was to run vanish is lost: it was killed" in lost.text
        assert "Make a new executor and register the tool with it again." in toolkit.call_sync("double", n=1).text


@pytest.mark.parametrize(("func", "kind"), [(_pieces, "a generator"), (_async_pieces, "async")])
def test_what_cannot_come_back_from_another_process_is_refused_when_it_is_made(func: Any, kind: str) -> None:
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(DeveloperOrientedException, match=f"is {kind}, which can't come back from another process"),
    ):
        FunctionTool(func, executor=pool)
    with ThreadPoolExecutor(1) as threads:
        FunctionTool(func, executor=threads)


def test_a_permission_that_is_no_decision_is_refused_when_the_tool_is_made() -> None:
    with pytest.raises(DeveloperOrientedException, match="permission must be a PermissionDecision, got 'allow'"):
        FunctionTool(lambda: 1, name="one", permission="allow")  # type: ignore[arg-type]

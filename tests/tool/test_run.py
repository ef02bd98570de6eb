"""One call, from look-up to log."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from nbtoolkit import hooks
from nbtoolkit.exception import DeveloperOrientedException
from nbtoolkit.message import TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.rule import (
    PermissionBehavior,
    PermissionContext,
    PermissionDecision,
    PermissionMode,
)
from nbtoolkit.state import AgentState
from nbtoolkit.tool.base import ChunkStream, NextHandler, ToolBase, ToolMiddlewareBase
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from nbtoolkit.tool.toolkit import Toolkit

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run in asyncio's debug mode and fail when a task is left behind."""

    async def counted() -> T:
        result = await asyncio.wait_for(coroutine, 20)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, f"tasks left behind: {left}"
        return result

    return asyncio.run(counted(), debug=True)


class Person:
    """Answers in turn, and keeps what was asked."""

    def __init__(self, *answers: Approval) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return self.answers.pop(0)


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def toolkit_of(*tools: Any, person: Person | None = None, mode: str = "bypass") -> Toolkit:
    toolkit = Toolkit(tools=list(tools))
    toolkit.mode = mode
    toolkit.approver = person
    return toolkit


def call(name: str, text: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(id="call_1", name=name, input=text)


# ---------------------------------------------------------------------- the two ways to consume a call
def test_a_call_says_what_a_task_takes_of_it() -> None:
    toolkit = Toolkit([FunctionTool(lambda: 1, name="one", is_read_only=True)])

    async def scenario() -> str:
        with pytest.raises(TypeError, match=r"a task takes \.complete\(\)"):
            await asyncio.create_task(toolkit.call("one"))  # type: ignore[arg-type]
        return (await asyncio.create_task(toolkit.call("one").complete())).text

    assert asyncio.run(scenario()) == "1"


def test_an_awaited_call_gives_the_response_under_the_calls_id() -> None:
    response = run(_awaited(toolkit_of(add).call_tool(call("add", '{"a": 2}'))))
    assert (response.id, response.text, response.value) == ("call_1", "3", 3)
    assert response.state is ToolResultState.SUCCESS


async def _awaited(call: Any) -> ToolResponse:
    response = await call
    assert isinstance(response, ToolResponse)
    return response


async def _collected(call: Any) -> list[ToolChunk | ToolResponse]:
    return [each async for each in call]


def test_an_iterated_call_gives_its_chunks_and_then_the_response() -> None:
    def count(n: int) -> Iterator[str]:
        """Count."""
        for i in range(n):
            yield str(i)

    *chunks, response = run(_collected(toolkit_of(count).call("count", n=3)))
    assert all(isinstance(chunk, ToolChunk) for chunk in chunks)
    assert [chunk.is_last for chunk in chunks if isinstance(chunk, ToolChunk)] == [False, False, False, True]
    assert isinstance(response, ToolResponse)
    assert (response.text, response.value) == ("012", "012")
    assert len(response.content) == 1


def test_a_call_runs_once() -> None:
    async def twice() -> None:
        held = toolkit_of(add).call("add", a=1)
        await held
        await held

    with pytest.raises(DeveloperOrientedException, match="has run already"):
        run(twice())


def test_parameters_may_be_called_like_the_toolkits_own() -> None:
    def greet(name: str, self: str = "", state: str = "", tool_call: str = "") -> str:
        """Greet."""
        return f"{name}{self}{state}{tool_call}"

    toolkit = toolkit_of(greet)
    assert run(_awaited(toolkit.call("greet", name="n", self="s", state="t", tool_call="c"))).text == "nstc"


# ---------------------------------------------------------------------- before anyone is asked
def test_wrong_arguments_are_refused_before_anyone_is_asked_and_all_are_named() -> None:
    person = Person()
    ran: list[int] = []

    def insert(count: int, kind: bool) -> None:
        """Insert."""
        ran.append(count)

    toolkit = toolkit_of(insert, person=person, mode="default")
    response = run(_awaited(toolkit.call_tool(call("insert", '{"count": "many", "kind": "perhaps"}'))))
    assert response.state is ToolResultState.ERROR
    assert "count" in response.text
    assert "kind" in response.text
    assert not person.asked
    assert not ran
    assert toolkit.log[1].words == "not run"


def test_unknown_tools_and_inactive_groups_are_results_with_the_texts_that_stand() -> None:
    toolkit = toolkit_of(add)
    toolkit.register(FunctionTool(add, name="more"), "extra")
    assert run(_awaited(toolkit.call("ad"))).text.startswith("ToolNotFoundError: The tool named 'ad' doesn't exist.")
    assert run(_awaited(toolkit.call("more", a=1))).text == (
        "ToolGroupInactiveError: The tool 'more' in group 'extra' is currently inactive. You should first activate "
        "the group by calling the 'reset_tools' tool."
    )


def test_broken_json_is_repaired_and_the_log_says_so() -> None:
    toolkit = toolkit_of(add)
    assert run(_awaited(toolkit.call_tool(call("add", "{'a': 1, 'b': 2,}")))).text == "3"
    assert toolkit.log[1].mended
    assert run(_awaited(toolkit.call_tool(call("add", "[1, 2]")))).state is ToolResultState.ERROR


# ---------------------------------------------------------------------- asking
def test_a_denied_call_does_not_run_and_the_model_reads_the_reason() -> None:
    person = Person(Approval.deny("not today"))
    response = run(_awaited(toolkit_of(add, person=person, mode="default").call("add", a=1)))
    assert response.state is ToolResultState.DENIED
    assert "not today" in response.text
    assert response.value is None


def test_the_question_holds_the_validated_arguments_with_their_defaults() -> None:
    person = Person(Approval.allow())
    run(_awaited(toolkit_of(add, person=person, mode="default").call_tool(call("add", '{"a": "2"}'))))
    assert person.asked[0].tool_input == {"a": 2, "b": 1}


def test_without_an_approver_an_ask_is_a_denial_at_once() -> None:
    response = run(_awaited(toolkit_of(add, mode="default").call("add", a=1)))
    assert response.state is ToolResultState.DENIED


def test_an_approver_that_raises_is_a_denial() -> None:
    async def broken(request: ApprovalRequest) -> Approval:
        raise ZeroDivisionError

    toolkit = toolkit_of(add, mode="default")
    response = run(_awaited(toolkit.call_tool(call("add", '{"a": 1}'), approver=broken)))
    assert response.state is ToolResultState.DENIED


def test_always_is_not_asked_again() -> None:
    person = Person(Approval.allow("add(a=1)", scope="kernel"), Approval.deny("no"))
    toolkit = toolkit_of(add, person=person, mode="default")
    assert run(_awaited(toolkit.call("add", a=1))).text == "2"
    assert run(_awaited(toolkit.call("add", a=1))).text == "2"
    assert len(person.asked) == 1
    assert toolkit.log[2].words == "allowed by add(a=1)"
    assert run(_awaited(toolkit.call("add", a=5))).state is ToolResultState.DENIED


def test_an_edited_call_is_validated_judged_and_asked_about_again() -> None:
    person = Person(Approval.edit({"a": 10}), Approval.allow())
    toolkit = toolkit_of(add, person=person, mode="default")
    assert run(_awaited(toolkit.call("add", a=1))).text == "11"
    assert [request.tool_input["a"] for request in person.asked] == [1, 10]
    assert toolkit.log[1].words == "allowed once, edited"


def test_an_edit_can_not_get_round_a_deny_rule() -> None:
    person = Person(Approval.edit({"a": 13}))
    toolkit = toolkit_of(add, person=person, mode="default")
    toolkit.add_rule("add(a=13)", "deny")
    assert run(_awaited(toolkit.call("add", a=1))).state is ToolResultState.DENIED


def test_an_answer_in_the_tools_place_is_the_result() -> None:
    person = Person(Approval.respond("forty-two"))
    toolkit = toolkit_of(add, person=person, mode="default")
    response = run(_awaited(toolkit.call("add", a=1)))
    assert (response.text, response.state) == ("forty-two", ToolResultState.SUCCESS)
    assert toolkit.log[1].words == "answered by you"


def test_what_a_tools_check_puts_in_the_arguments_place_is_shown_and_run() -> None:
    class Capped(ToolBase):
        name = "capped"
        description = "Takes ten at most."
        input_schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}  # noqa: RUF012

        async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
            return PermissionDecision(
                PermissionBehavior.ASK, "Ten at most.", updated_input={"n": min(tool_input["n"], 10)}
            )

        async def call(self, n: int) -> ToolChunk:
            return ToolChunk.of(str(n))

    person = Person(Approval.allow())
    assert run(_awaited(toolkit_of(Capped(), person=person, mode="default").call("capped", n=99))).text == "10"
    assert person.asked[0].tool_input == {"n": 10}


# ---------------------------------------------------------------------- ends that are no results
def test_a_cancelled_call_is_recorded_as_interrupted_and_the_cancellation_goes_on_up() -> None:
    started = asyncio.Event()
    cleaned = []

    async def wait() -> None:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    toolkit = toolkit_of(wait)

    async def cancelled() -> None:
        task = asyncio.create_task(_awaited(toolkit.call("wait")))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert toolkit.log[1].state is ToolResultState.INTERRUPTED
    assert cleaned


def test_a_keyboard_interrupt_in_a_tool_is_recorded_and_goes_on_up() -> None:
    def stop() -> None:
        """Stop."""
        raise KeyboardInterrupt

    toolkit = toolkit_of(stop)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_awaited(toolkit.call("stop")))
    assert toolkit.log[1].state is ToolResultState.INTERRUPTED


def test_an_interrupt_while_it_asks_is_recorded() -> None:
    async def interrupted(request: ApprovalRequest) -> Approval:
        raise KeyboardInterrupt

    toolkit = toolkit_of(add, mode="default")
    toolkit.approver = interrupted
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_awaited(toolkit.call("add", a=1)))
    assert toolkit.log[1].state is ToolResultState.INTERRUPTED


def test_stop_ends_the_call_and_whoever_awaits_it_goes_on() -> None:
    started = asyncio.Event()

    async def wait() -> AsyncIterator[str]:
        """Wait."""
        yield "begun "
        started.set()
        await asyncio.Event().wait()

    toolkit = toolkit_of(wait)

    async def stopped() -> str:
        held = toolkit.call("wait")

        async def stopper() -> None:
            await started.wait()
            held.cancel()

        task = asyncio.create_task(stopper())
        response = await held
        await task
        await asyncio.sleep(0)
        assert response.state is ToolResultState.INTERRUPTED
        return response.text

    assert run(stopped()) == "begun \nThe call was interrupted before it ended."


def test_an_exception_becomes_a_result_with_the_users_own_lines() -> None:
    def divide(a: int) -> float:
        """Divide."""
        return a / 0

    response = run(_awaited(toolkit_of(divide).call("divide", a=1)))
    assert response.state is ToolResultState.ERROR
    assert response.text.splitlines()[0] == "ZeroDivisionError: division by zero"
    assert "in divide: return a / 0" in response.text
    assert "run.py" not in response.text
    assert "nbtoolkit" not in response.text


@pytest.mark.parametrize("thread", [True, False])
def test_an_iterator_that_holds_nothing_is_told_with_the_line_that_asked_it(thread: bool) -> None:
    def first() -> object:
        """Give the first."""
        return next(iter([]))

    response = run(_awaited(toolkit_of(FunctionTool(first, thread=thread)).call("first")))
    assert response.state is ToolResultState.ERROR
    assert response.text.startswith("StopIteration\n")
    assert "in first: return next(iter([]))" in response.text


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (DeveloperOrientedException("mend me"), "mend me"),
        (SystemExit(2), "SystemExit: 2"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
def test_whatever_a_tool_raises_by_itself_is_its_result(raised: BaseException, said: str) -> None:
    async def wrong() -> None:
        """Be wrong."""
        raise raised

    response = run(_awaited(toolkit_of(wrong).call("wrong")))
    assert response.state is ToolResultState.ERROR
    assert said in response.text


def test_a_stream_that_is_left_early_closes_its_tool_and_is_recorded() -> None:
    closed = []

    async def endless() -> AsyncIterator[str]:
        """Never end."""
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    toolkit = toolkit_of(endless)

    async def leave() -> None:
        stream = toolkit.call("endless").__aiter__()
        assert isinstance(await anext(stream), ToolChunk)
        await stream.aclose()  # type: ignore[attr-defined]

    run(leave())
    assert closed
    assert toolkit.log[1].state is ToolResultState.INTERRUPTED


def test_a_call_that_was_stopped_before_it_began_does_not_run() -> None:
    ran: list[int] = []

    async def late() -> None:
        """Run."""
        ran.append(1)

    toolkit = toolkit_of(late)
    held = toolkit.call("late")
    held.cancel()
    assert run(_awaited(held)).state is ToolResultState.INTERRUPTED
    assert not ran


def test_a_stop_that_comes_too_late_cancels_nothing_else() -> None:
    async def both() -> ToolResponse:
        held: list[Any] = []

        def busy() -> str:
            """Be stopped while the loop can't turn."""
            held[0].cancel()
            return "done"

        held.append(toolkit_of(busy).call("busy"))
        response = await _awaited(held[0])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        return response

    assert run(both()).state is ToolResultState.SUCCESS


def test_a_stop_between_two_chunks_leaves_the_consumers_own_await_alone() -> None:
    async def endless() -> AsyncIterator[str]:
        """Never end."""
        while True:
            yield "x"
            await asyncio.sleep(0)

    async def consume() -> ToolResponse:
        held = toolkit_of(endless).call("endless")
        last: Any = None
        async for each in held:
            if last is None:
                held.cancel()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            last = each
        assert isinstance(last, ToolResponse)
        return last

    assert run(consume()).state is ToolResultState.INTERRUPTED


def test_a_tool_that_swallows_a_stop_leaves_its_task_as_it_was() -> None:
    started = asyncio.Event()

    async def stubborn() -> str:
        """Go on."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "went on"
        return ""

    async def stopped() -> str:
        held = toolkit_of(stubborn).call("stubborn")

        async def stopper() -> None:
            await started.wait()
            held.cancel()

        task = asyncio.create_task(stopper())
        response = await held
        await task
        own = asyncio.current_task()
        assert own is not None
        assert own.cancelling() == 0
        return response.text

    assert run(stopped()) == "went on"


class Swallowing(ToolMiddlewareBase):
    """Gives a chunk in the place of a cancellation."""

    async def on_tool_call(
        self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
    ) -> ChunkStream:
        """Swallow it."""
        try:
            async for chunk in next_handler(**input_kwargs):
                yield chunk
        except asyncio.CancelledError:
            yield ToolChunk.of("swallowed")


@pytest.mark.parametrize("by_middleware", [True, False])
@pytest.mark.parametrize("iterated", [True, False])
def test_a_cancellation_that_is_swallowed_inside_goes_on_up_all_the_same(by_middleware: bool, iterated: bool) -> None:
    started = asyncio.Event()

    async def stubborn() -> str:
        """Go on."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if by_middleware:
                raise
        return "swallowed"

    toolkit = toolkit_of(FunctionTool(stubborn, middlewares=[Swallowing()] if by_middleware else None))
    given: list[object] = []

    async def consume() -> None:
        held = toolkit.call("stubborn")
        if iterated:
            given.extend([each async for each in held])
        else:
            given.append(await held)

    async def cancelled() -> None:
        task = asyncio.create_task(consume())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert given == []
    assert toolkit.log[1].state is ToolResultState.INTERRUPTED
    assert toolkit.log[1].size > 0


def test_a_call_that_cleans_up_after_a_cancellation_runs_to_its_end() -> None:
    async def tidy() -> str:
        """Clean up."""
        await asyncio.sleep(0)
        return "tidied"

    async def trip() -> str:
        """Trip over a task of its own."""
        own = asyncio.ensure_future(asyncio.Event().wait())
        own.cancel()
        await own
        return ""

    toolkit = toolkit_of(tidy, trip)
    texts: list[str] = []

    async def work(started: asyncio.Event) -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            texts.append((await toolkit.call("tidy")).text)
            texts.append((await toolkit.call("trip")).state)

    async def cancelled() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(work(started))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert texts == ["tidied", ToolResultState.ERROR]


def test_a_generator_that_never_lets_the_loop_run_is_stopped_between_two_chunks() -> None:
    async def both() -> ToolResponse:
        held: list[Any] = []

        def chunks() -> Iterator[str]:
            """Stop itself."""
            for n in range(1000):
                if n == 3:
                    held[0].cancel()
                yield "x"

        held.append(toolkit_of(chunks).call("chunks"))
        return await _awaited(held[0])

    response = run(both())
    assert response.state is ToolResultState.INTERRUPTED
    assert response.text.count("x") < 100


# ---------------------------------------------------------------------- middlewares
class Note(ToolMiddlewareBase):
    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def on_tool_call(
        self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
    ) -> ChunkStream:
        self.seen.append(f"{self.name} in")
        async for chunk in next_handler(**input_kwargs):
            yield chunk
        self.seen.append(f"{self.name} out")


def test_the_first_middleware_is_outermost() -> None:
    seen: list[str] = []
    tool = FunctionTool(add, middlewares=[Note("a", seen), Note("b", seen)])
    assert run(_awaited(toolkit_of(tool).call("add", a=1))).text == "2"
    assert seen == ["a in", "b in", "b out", "a out"]


def test_arguments_that_a_middleware_rewrites_are_validated_and_judged_again() -> None:
    class Rewrite(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            async for chunk in next_handler(a="7", b=1):
                yield chunk

    person = Person(Approval.allow(), Approval.allow())
    toolkit = toolkit_of(FunctionTool(add, middlewares=[Rewrite()]), person=person, mode="default")
    assert run(_awaited(toolkit.call("add", a=1))).text == "8"
    assert [request.tool_input for request in person.asked] == [{"a": 1, "b": 1}, {"a": 7, "b": 1}]

    toolkit.add_rule("add(a=7)", "deny")
    person.answers.append(Approval.allow())
    assert run(_awaited(toolkit.call("add", a=1))).state is ToolResultState.DENIED


class Insist(ToolMiddlewareBase):
    """Tries other arguments again and again, whatever is said."""

    async def on_tool_call(
        self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
    ) -> ChunkStream:
        for _ in range(3):
            try:
                async for chunk in next_handler(a=13, b=1):
                    yield chunk
            except Exception:  # noqa: BLE001 - as careless as people write it
                continue
            return


def test_a_retry_does_not_run_what_was_denied() -> None:
    ran: list[int] = []

    def count(a: int, b: int = 1) -> None:
        """Count."""
        ran.append(a)

    toolkit = toolkit_of(FunctionTool(count, middlewares=[Insist()]))
    toolkit.add_rule("count(a=13)", "deny")
    response = run(_awaited(toolkit.call("count", a=1)))
    assert response.state is ToolResultState.DENIED
    assert not ran


def test_two_runs_at_once_are_each_asked_about() -> None:
    ran: list[int] = []
    asked: list[dict[str, Any]] = []

    async def count(a: int) -> None:
        """Count."""
        ran.append(a)

    class Twice(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            async def one() -> None:
                async for _ in next_handler(a=13):
                    pass

            await asyncio.gather(one(), one())
            yield ToolChunk.of("both")

    async def person(request: ApprovalRequest) -> Approval:
        asked.append(request.tool_input)
        await asyncio.sleep(0)
        assert len(ran) < len(asked)
        return Approval.allow()

    toolkit = toolkit_of(FunctionTool(count, middlewares=[Twice()]), mode="default")
    toolkit.approver = person
    run(_awaited(toolkit.call("count", a=1)))
    assert asked == [{"a": 1}, {"a": 13}, {"a": 13}]
    assert ran == [13, 13]


class Nested(ToolBase):
    name = "nested"
    description = "Takes an object."
    input_schema = {"type": "object", "properties": {"o": {"type": "object"}}, "required": ["o"]}  # noqa: RUF012

    def __init__(self, *middlewares: ToolMiddlewareBase) -> None:
        super().__init__(list(middlewares))
        self.ran: list[Any] = []

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        decision = PermissionDecision(PermissionBehavior.ASK, "It asks.")
        tool_input["o"]["seen"] = "changed by the check"
        return decision

    async def call(self, o: dict[str, Any]) -> ToolChunk:
        self.ran.append(dict(o))
        o["path"] = "changed by the tool"
        return ToolChunk.of("ok")


def test_nobody_can_change_arguments_behind_the_question() -> None:
    asked: list[dict[str, Any]] = []

    class Reach(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            input_kwargs["o"]["path"] = "/etc/shadow"
            async for chunk in next_handler(**input_kwargs):
                yield chunk

    async def person(request: ApprovalRequest) -> Approval:
        asked.append({"o": dict(request.tool_input["o"])})
        request.tool_input["o"]["path"] = "changed by the approver"
        return Approval.allow() if len(asked) == 1 else Approval.deny("not that one")

    plain, reaching = Nested(), Nested(Reach())
    toolkit = toolkit_of(plain, mode="default")
    toolkit.approver = person
    run(_awaited(toolkit.call("nested", o={"path": "ok"})))
    assert asked == [{"o": {"path": "ok"}}]
    assert plain.ran == [{"path": "ok"}]
    assert toolkit.log[1].tool_input == {"o": {"path": "ok"}}

    asked.clear()
    toolkit = toolkit_of(reaching, mode="default")
    toolkit.approver = person
    assert run(_awaited(toolkit.call("nested", o={"path": "ok"}))).state is ToolResultState.DENIED
    assert asked == [{"o": {"path": "ok"}}, {"o": {"path": "/etc/shadow"}}]
    assert not reaching.ran


def test_a_retry_gets_arguments_that_no_run_has_changed() -> None:
    seen: list[list[int]] = []

    def grow(xs: list[int]) -> None:
        """Grow the list."""
        xs.append(9)
        seen.append(list(xs))
        if len(seen) < 3:
            raise ConnectionError

    class Retry(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            for _ in range(3):
                try:
                    async for chunk in next_handler(**input_kwargs):
                        yield chunk
                except ConnectionError:
                    continue
                return

    run(_awaited(toolkit_of(FunctionTool(grow, middlewares=[Retry()])).call("grow", xs=[1])))
    assert seen == [[1, 9]] * 3


def test_a_conversations_permission_context_may_be_replaced() -> None:
    allowing = FunctionTool(add, permission=PermissionDecision(PermissionBehavior.ALLOW, "Always."))
    toolkit = toolkit_of(allowing, mode="default")
    assert run(_awaited(toolkit.call("add", a=1))).text == "2"
    toolkit.state.permission_context = PermissionContext(mode=PermissionMode.EXPLORE)
    assert run(_awaited(toolkit.call("add", a=1))).state is ToolResultState.DENIED
    toolkit.state = AgentState()
    assert run(_awaited(toolkit.call("add", a=1))).text == "2"
    other = AgentState()
    for mode, state in (("explore", ToolResultState.DENIED), ("bypass", ToolResultState.SUCCESS)):
        other.permission_context = PermissionContext(mode=PermissionMode(mode))
        response = run(_awaited(toolkit.call_tool(call("add", '{"a": 1}'), state=other)))
        assert response.state is state


def test_a_middleware_may_answer_filter_and_retry() -> None:
    tries = []

    def flaky() -> str:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError
        return "ok"

    class Retry(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            for _ in range(3):
                try:
                    async for chunk in next_handler(**input_kwargs):
                        yield chunk
                except ConnectionError:
                    continue
                return

    class Shout(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            async for chunk in next_handler(**input_kwargs):
                yield ToolChunk.of("".join(b.text for b in chunk.content if isinstance(b, TextBlock)).upper())

    class Answer(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            yield ToolChunk.of("from the cache")

    assert run(_awaited(toolkit_of(FunctionTool(flaky, middlewares=[Shout(), Retry()])).call("flaky"))).text == "OK"
    assert (
        run(_awaited(toolkit_of(FunctionTool(add, middlewares=[Answer()])).call("add", a=1))).text == "from the cache"
    )


def test_a_middleware_that_stops_early_leaves_no_tool_running() -> None:
    closed = []

    async def endless() -> AsyncIterator[str]:
        """Never end."""
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    class First(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            async for chunk in next_handler(**input_kwargs):
                yield chunk
                return

    assert run(_awaited(toolkit_of(FunctionTool(endless, middlewares=[First()])).call("endless"))).text == "x"
    gc.collect()
    assert closed


def test_an_exception_in_a_middleware_is_a_result() -> None:
    class Broken(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            yield ToolChunk.of(str(1 / 0))

    response = run(_awaited(toolkit_of(FunctionTool(add, middlewares=[Broken()])).call("add", a=1)))
    assert response.state is ToolResultState.ERROR
    assert "ZeroDivisionError" in response.text


# ---------------------------------------------------------------------- kinds of tools
def test_sync_functions_run_in_the_calling_thread_and_thread_moves_them() -> None:
    import threading
    from contextvars import ContextVar

    where: ContextVar[str] = ContextVar("where", default="nowhere")

    def here() -> str:
        """Say where."""
        return f"{threading.current_thread() is threading.main_thread()} {where.get()}"

    toolkit = toolkit_of(here, FunctionTool(here, name="elsewhere", thread=True))

    async def both() -> tuple[str, str]:
        where.set("this cell")
        return (await toolkit.call("here")).text, (await toolkit.call("elsewhere")).text

    assert run(both()) == ("True this cell", "False this cell")


def test_a_function_in_a_thread_may_raise_anything() -> None:
    def stop() -> None:
        """Stop."""
        raise StopIteration(3)

    response = run(_awaited(toolkit_of(FunctionTool(stop, thread=True)).call("stop")))
    assert response.state is ToolResultState.ERROR
    assert "StopIteration" in response.text


def test_an_executor_runs_the_function() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert run(_awaited(toolkit_of(FunctionTool(add, executor=pool)).call("add", a=1))).text == "2"


def test_a_sync_generator_in_a_thread_streams_and_gives_its_return_value() -> None:
    def steps() -> Generator[str, None, str]:
        """Step."""
        yield "one "
        yield "two "
        return "done"

    for thread in (False, True):
        response = run(_awaited(toolkit_of(FunctionTool(steps, thread=thread)).call("steps")))
        assert (response.text, response.value) == ("one two done", "done")


def test_the_state_is_injected_and_stays_out_of_the_schema() -> None:
    def groups(_agent_state: AgentState) -> str:
        """Name the active groups."""
        return ",".join(_agent_state.tool_context.activated_groups)

    toolkit = toolkit_of(FunctionTool(groups, is_state_injected=True))
    state = AgentState()
    state.permission_context.mode = PermissionMode.BYPASS
    state.tool_context.activated_groups.append("g")
    assert run(_awaited(toolkit.call_tool(call("groups"), state=state))).text == "g"
    assert "_agent_state" not in str(run(toolkit.get_tool_schemas()))


class External(ToolBase):
    name = "external"
    description = "Runs elsewhere."
    input_schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}  # noqa: RUF012
    is_external_tool = True
    metadata_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"cost": {"type": "number"}},
        "required": ["cost"],
    }

    async def check_permissions(self, tool_input: dict[str, Any], context: PermissionContext) -> PermissionDecision:
        return PermissionDecision(PermissionBehavior.ALLOW, "Runs elsewhere.")


@pytest.mark.parametrize(("metadata", "state"), [({"cost": 1}, "success"), ({}, "error"), ({"cost": "much"}, "error")])
def test_an_external_call_is_handed_out_and_its_result_is_checked(metadata: dict[str, Any], state: str) -> None:
    toolkit = toolkit_of(External(), mode="default")

    async def both() -> ToolResponse:
        task = asyncio.create_task(_awaited(toolkit.call("external", q="?")))
        while not toolkit.external.pending:  # noqa: ASYNC110 - run() bounds it
            await asyncio.sleep(0)
        (waiting,) = toolkit.external.pending
        assert waiting.tool_input == {"q": "?"}
        toolkit.external.hand_in(
            waiting.id, ToolResultBlock(name="external", output=[TextBlock(text="!")], metadata=metadata)
        )
        return await task

    assert run(both()).state == state


def test_external_calls_of_one_id_each_get_their_result() -> None:
    toolkit = toolkit_of(External(), mode="default")

    async def both() -> list[str]:
        calls = [toolkit.call_tool(ToolCallBlock(id="call_0", name="external", input='{"q": "?"}')) for _ in range(2)]
        tasks = [asyncio.create_task(_awaited(each)) for each in calls]
        while len(toolkit.external.pending) < 2:  # noqa: ASYNC110 - run() bounds it
            await asyncio.sleep(0)
        for text in ("first", "second"):
            toolkit.external.hand_in(
                "call_0", ToolResultBlock(name="external", output=[TextBlock(text=text)], metadata={"cost": 1})
            )
            await asyncio.sleep(0)
        return [(await task).text for task in tasks]

    assert run(both()) == ["first", "second"]


@pytest.mark.parametrize(
    ("result", "state"),
    [
        (ToolChunk.of("broken", ToolResultState.ERROR), "error"),
        ({"any": "object"}, "error"),  # the schema asks for a cost
        (ToolChunk(content=[TextBlock(text="ok")], metadata={"cost": 2}), "success"),
    ],
)
def test_what_is_handed_in_says_its_own_state_and_is_held_to_the_schema(result: Any, state: str) -> None:
    seen: list[str] = []
    tool = External(middlewares=[Note("around", seen)])
    toolkit = toolkit_of(tool, mode="default")

    async def both() -> ToolResponse:
        task = asyncio.create_task(_awaited(toolkit.call("external", q="?")))
        while not toolkit.external.pending:  # noqa: ASYNC110 - run() bounds it
            await asyncio.sleep(0)
        toolkit.external.hand_in(toolkit.external.pending[0], result)
        return await task

    assert run(both()).state == state
    assert seen == ["around in", "around out"]


def test_a_tool_awaited_by_its_holder_runs_unguarded_and_takes_keywords_only() -> None:
    async def direct() -> ToolChunk:
        chunk = await FunctionTool(add)(a="2")
        assert isinstance(chunk, ToolChunk)
        with pytest.raises(TypeError, match="keyword arguments only"):
            await FunctionTool(add)(2)
        return chunk

    assert run(direct()).value == 3


# ---------------------------------------------------------------------- several at once
def test_concurrency_safe_neighbours_run_together_and_the_others_in_order() -> None:
    order: list[str] = []
    gate = asyncio.Event()

    async def first() -> None:
        """Wait for the second."""
        await gate.wait()
        order.append("first")

    async def second() -> None:
        """Open the gate."""
        order.append("second")
        gate.set()

    async def alone() -> None:
        """Run alone."""
        order.append("alone")

    toolkit = toolkit_of(first, second, FunctionTool(alone, is_concurrency_safe=False))
    names = ["first", "second", "alone", "second"]
    responses = run(toolkit.call_tools([ToolCallBlock(id=str(i), name=name) for i, name in enumerate(names)]))
    assert [response.id for response in responses] == ["0", "1", "2", "3"]
    assert order == ["second", "first", "alone", "second"]


def test_an_interrupt_of_several_leaves_none_running() -> None:
    started = []

    async def wait() -> None:
        """Wait."""
        started.append(1)
        await asyncio.Event().wait()

    toolkit = toolkit_of(wait)

    async def cancelled() -> None:
        calls = [ToolCallBlock(name="wait") for _ in range(3)]
        task = asyncio.create_task(toolkit.call_tools(calls))
        while len(started) < 3:  # noqa: ASYNC110 - run() bounds it
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert [entry.state for entry in toolkit.log] == [ToolResultState.INTERRUPTED] * 3


def test_call_sync_runs_in_a_script() -> None:
    toolkit = toolkit_of(add)
    assert toolkit.call_sync("add", a=1).text == "2"
    assert [r.text for r in toolkit.call_tools_sync([call("add", '{"a": 1}'), call("add", '{"a": 2}')])] == ["2", "3"]


# ---------------------------------------------------------------------- what is kept
def test_the_log_numbers_calls_and_the_results_keep_their_values() -> None:
    toolkit = toolkit_of(add)
    run(_awaited(toolkit.call("add", a=1)))
    run(_awaited(toolkit.call("add", a=5)))
    assert [entry.number for entry in toolkit.log] == [1, 2]
    assert toolkit.results[2] == 6
    assert toolkit.log[1].tool_input == {"a": 1, "b": 1}
    with pytest.raises(KeyError, match="kept are 1, 2"):
        toolkit.results[7]
    frame = toolkit.log.to_dataframe()
    assert list(frame["decision"]) == ["allowed by mode bypass"] * 2
    assert toolkit.log.to_jsonl().count("\n") == 2


def test_observers_see_a_call_and_their_faults_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Watch:
        def started(self, call: Any) -> None:
            seen.append("started")

        def chunk(self, call: Any, chunk: Any) -> None:
            seen.append("chunk")

        def ended(self, call: Any, entry: Any, response: Any) -> None:
            seen.append(f"ended {entry.state} {response.text}")

    class Broken(Watch):
        def started(self, call: Any) -> None:
            raise ZeroDivisionError

    monkeypatch.setattr(hooks, "observers", [Broken(), Watch()])
    run(_awaited(toolkit_of(add).call("add", a=1)))
    assert seen == ["started", "chunk", "chunk", "ended success 2", "ended success 2"]


def test_a_call_that_goes_up_at_once_takes_those_that_wait_with_it() -> None:
    ended: list[str] = []

    async def wait() -> str:
        """Wait for what never comes."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waited")
        return "never"

    toolkit = toolkit_of(FunctionTool(wait), FunctionTool(add))

    async def scenario() -> None:
        used = toolkit.call("add", a=1)
        await used
        with pytest.raises(DeveloperOrientedException, match="has run already"):
            await asyncio.wait_for(toolkit.call_tools([call("wait", "{}"), used]), 20)

    run(scenario())
    assert ended == ["waited"]


def test_the_exceptions_of_a_group_are_told_each() -> None:
    def broken() -> None:
        """Break."""
        raise ExceptionGroup("several", [ValueError("one"), ExceptionGroup("more", [KeyError("two")])])

    text = Toolkit(tools=[FunctionTool(broken, is_read_only=True)]).call_sync("broken").text
    lines = [line for line in text.split("\n") if "line " not in line]
    assert lines == [
        "ExceptionGroup: several (2 sub-exceptions)",
        "  ValueError: one",
        "  ExceptionGroup: more (1 sub-exception)",
        "    KeyError: 'two'",
    ]


class Interrupting:
    """Shows a call's end, where a person's stop comes."""

    def __init__(self) -> None:
        self.told = 0

    def started(self, call: Any) -> None: ...

    def chunk(self, call: Any, chunk: ToolChunk) -> None: ...

    def ended(self, call: Any, entry: Any, response: ToolResponse) -> None:
        self.told += 1
        raise KeyboardInterrupt


def test_an_interrupt_while_a_call_is_recorded_leaves_it_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Interrupting(), Interrupting()
    monkeypatch.setattr(hooks, "observers", [first])
    toolkit = Toolkit(tools=[FunctionTool(add, is_read_only=True)])
    call = toolkit.call("add", a=1)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(call.complete())
    assert first.told == 1
    (entry,) = toolkit.log
    assert entry.state is ToolResultState.SUCCESS
    assert call.response is not None
    assert call.response.text == "2"

    # Whatever breaks off the record, what is told is told once and logged once.
    monkeypatch.setattr(hooks, "observers", [first, second])
    call = toolkit.call("add", a=2)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(call.complete())
    assert (first.told, second.told, len(toolkit.log)) == (2, 1, 2)


def test_an_interrupt_while_a_failure_is_put_in_words_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        """Break."""
        raise ValueError

    def interrupted(error: BaseException) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("nbtoolkit.tool.run.own_lines", interrupted)
    toolkit = Toolkit(tools=[FunctionTool(broken, is_read_only=True)])
    call = toolkit.call("broken")
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(call.complete())
    assert call.response is not None
    assert call.response.state is toolkit.log[1].state is ToolResultState.INTERRUPTED


class NoYield(ToolMiddlewareBase):
    async def on_tool_call(  # type: ignore[override]
        self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
    ) -> None:
        return None


def test_a_middleware_without_a_yield_is_told_so() -> None:
    words = r"NoYield\.on_tool_call must be an async generator, but it has no yield\. Give each chunk"
    with pytest.raises(DeveloperOrientedException, match=words):
        FunctionTool(add, middlewares=[NoYield()])
    tool = FunctionTool(add, is_read_only=True)
    tool.middlewares.append(NoYield())
    response = run(_response(Toolkit(tools=[tool]).call("add", a=1)))
    assert response.state is ToolResultState.ERROR
    assert "NoYield.on_tool_call must be an async generator" in response.text


async def _response(call: Any) -> ToolResponse:
    response: ToolResponse = await call
    return response

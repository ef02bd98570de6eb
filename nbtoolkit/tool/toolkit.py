"""Toolkit, the one registry of functions, MCP servers and skills, and the way in to every call."""

from __future__ import annotations

import warnings
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.message import ToolCallBlock
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode, PermissionRule
from nbtoolkit.tool.catalogue import Catalogue
from nbtoolkit.tool.kept import Results
from nbtoolkit.tool.log import CallLog

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from nbtoolkit.agents.chat import Answer, Conversation
    from nbtoolkit.cassette.player import Replay
    from nbtoolkit.cassette.recorder import Recording
    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Approver
    from nbtoolkit.permission.explain import Explanation
    from nbtoolkit.permission.grants import Grant
    from nbtoolkit.permission.remember import Remembered
    from nbtoolkit.skill import Skill, SkillLoaderBase
    from nbtoolkit.state import AgentState
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup
    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.run import ToolCall

__all__ = ["Toolkit"]

# Calls that are made and begin in one turn of the loop: what they leave is used again by the next ones, and the garbage
# collector never finds more than these.
AT_ONCE = 64
C = TypeVar("C")
# Conversations other than the notebook's own, whose engines are kept ready.
MAX_ENGINES = 64


class Toolkit(Catalogue):
    """What agents can do here: tools in groups, the permission that guards them, and the log of what was done.

    The four arguments land in the group "basic", which is always on, and in the groups that ``tool_groups`` names.
    ValueError for two tools of one name, a stateful MCP client that isn't connected, or a group called "basic".
    """

    def __init__(
        self,
        tools: Sequence[ToolBase | Callable[..., Any]] | None = None,
        skills_or_loaders: Sequence[str | Path | Skill | SkillLoaderBase] | None = None,
        mcps: Sequence[MCPClient] | None = None,
        tool_groups: Sequence[ToolGroup] | None = None,
    ) -> None:
        # What runs calls is loaded with the first toolkit, not with this module: it needs asyncio.
        from nbtoolkit.tool.external import ExternalCalls
        from nbtoolkit.tool.run import ToolCall, new_call

        self._tool_call, self._new_call = ToolCall, new_call
        # What people granted holds for every conversation here, whatever rules each brings.
        self.grants = Grants()
        self.approver: Approver | None = None
        # What records or replays the calls, while it does.
        self.tape: Recording | Replay | None = None
        self.log = CallLog()
        self.results = Results()
        self.external = ExternalCalls()
        self._engines: dict[int, tuple[AgentState, PermissionEngine]] = {}
        super().__init__(tools, skills_or_loaders, mcps, tool_groups)

    def __setattr__(self, name: str, value: Any) -> None:
        # Here and not in a property: each call reads them.
        expected = _EXPECTED.get(name)
        if expected is not None and not expected[0](value):
            raise TypeError(f"toolkit.{name} must be {expected[1]}, but is {value!r}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"Toolkit({len(self._index)} tools in {len(self.tool_groups)} groups, {len(self.mcps)} MCP servers)"

    def _forget(self, old: ToolBase, new: ToolBase) -> None:
        super()._forget(old, new)
        names = {old.name, new.name}
        # The definition's hash wants the schema, which is made when first needed.
        if not any(rule.tool_name in names and rule.definition is not None for rule in self.grants):
            return
        gone = [rule for name in sorted(names) for rule in self.grants.redefined(name, new.definition_hash)]
        if gone:
            text = f"{new.name} has changed since it was allowed, so this is asked about again: {', '.join(map(str, gone))}"
            warnings.warn(text, ToolkitWarning, stacklevel=2)

    # ------------------------------------------------------------------ calling
    def call_tool(
        self, tool_call: ToolCallBlock, state: AgentState | None = None, approver: Approver | None = None
    ) -> ToolCall:
        """Run a model's call: await it for the ToolResponse, or iterate for its chunks and then the ToolResponse."""
        if type(tool_call) is not ToolCallBlock:
            _checked(tool_call)
        return self._tool_call(self, tool_call, state, approver)

    def call(self, name: str, /, **arguments: Any) -> ToolCall:
        """Run a tool by name and keyword arguments, through the same steps as a model's call."""
        return self._tool_call(self, self._new_call(name), arguments=arguments)

    async def call_tools(
        self,
        tool_calls: Iterable[ToolCallBlock | ToolCall],
        state: AgentState | None = None,
        approver: Approver | None = None,
    ) -> list[ToolResponse]:
        """Run several calls: neighbours that are concurrency-safe together, the others in order.

        The responses come in the order of the calls.
        """
        kind = self._tool_call
        if isinstance(tool_calls, (ToolCallBlock, kind)):
            raise TypeError(
                f"call_tools takes a list of calls, but got {tool_calls!r}; put it into one, or use call_tool"
            )
        given = [each if type(each) in (ToolCallBlock, kind) else _checked(each, kind) for each in tool_calls]

        def made(each: ToolCallBlock | ToolCall) -> ToolCall:
            return each if isinstance(each, kind) else kind(self, each, state, approver)

        responses: list[ToolResponse] = []
        batch: list[ToolCallBlock | ToolCall] = []
        for each in given:
            name = each.name if isinstance(each, kind) else each.__dict__["name"]
            held = self._index.get(name)
            tool = held[0] if held is not None else await self.get_tool(name)
            if tool is None or tool.is_concurrency_safe:
                batch.append(each)
                continue
            responses += await _together(batch, made)
            batch = []
            responses.append(await made(each))
        return responses + await _together(batch, made)

    def call_sync(self, name: str, /, **arguments: Any) -> ToolResponse:
        """``call`` for a plain cell or a script; it blocks, approval included."""
        # An interrupted cell's traceback should end at the person's own line.
        __tracebackhide__ = True
        return self._run(self.call(name, **arguments).complete())

    def call_tool_sync(
        self, tool_call: ToolCallBlock, state: AgentState | None = None, approver: Approver | None = None
    ) -> ToolResponse:
        """``call_tool`` for a plain cell or a script."""
        __tracebackhide__ = True
        return self._run(self.call_tool(tool_call, state, approver).complete())

    def call_tools_sync(
        self,
        tool_calls: Iterable[ToolCallBlock | ToolCall],
        state: AgentState | None = None,
        approver: Approver | None = None,
    ) -> list[ToolResponse]:
        """``call_tools`` for a plain cell or a script."""
        __tracebackhide__ = True
        return self._run(self.call_tools(tool_calls, state, approver))

    # ------------------------------------------------------------------ agents
    async def run_calls(
        self, reply: Any, state: AgentState | None = None, approver: Approver | None = None
    ) -> list[Any]:
        """Run the calls of a model's reply, and give the messages to append behind it; empty where it has none.

        ``reply``: of OpenAI (chat completions, responses), Anthropic or Gemini, as the SDK's object, a stream of its
        pieces, plain dicts, or the calls alone. TypeError for anything else; what is wrong in a call is its result.
        """
        from nbtoolkit.agents.running import run_calls

        return await run_calls(self, reply, state, approver)

    def run_calls_sync(
        self, reply: Any, state: AgentState | None = None, approver: Approver | None = None
    ) -> list[Any]:
        """``run_calls`` for a plain cell or a script."""
        __tracebackhide__ = True
        return self._run(self.run_calls(reply, state, approver))

    @cached_property
    def chat(self) -> Conversation:
        """A conversation with a model that has these tools: ``await toolkit.chat("…", model="…")``.

        ``toolkit.chat.history`` holds its plain messages, ``toolkit.chat.reset()`` begins anew.
        """
        from nbtoolkit.agents.chat import Conversation

        return Conversation(self)

    def chat_sync(self, prompt: str, **options: Any) -> Answer:
        """``chat`` for a plain cell or a script; takes the same options."""
        __tracebackhide__ = True
        return self._run(self.chat(prompt, **options))

    # ------------------------------------------------------------------ record and replay
    def record(self, path: str | Path, *, update: bool = False) -> Recording:
        """Keep what calls and servers do in a cassette, until ``stop`` or the end of a ``with`` block.

        The file is written anew; with ``update`` entries of calls that aren't made now stay as they are.
        """
        from nbtoolkit.cassette.recorder import Recording

        return Recording(self, path, update=update).start()

    def replay(self, path: str | Path) -> Replay:
        """Give what a cassette holds instead of running anything, until ``stop`` or the end of a ``with`` block.

        CassetteError for a file that is missing or broken, CassetteMissError for a call that it doesn't hold.
        """
        from nbtoolkit.cassette.player import Replay

        return Replay(self, path).start()

    # ------------------------------------------------------------------ permission
    @property
    def mode(self) -> PermissionMode:
        """The permission mode of the notebook's own conversation; set it to change it."""
        return self.state.permission_context.mode

    @mode.setter
    def mode(self, mode: PermissionMode | str) -> None:
        try:
            self.state.permission_context.mode = PermissionMode(mode)
        except ValueError:
            raise ValueError(f"{mode!r} is no mode; expected one of {', '.join(PermissionMode)}") from None

    @property
    def rules(self) -> list[PermissionRule]:
        """Every rule and grant: deny, ask, allow."""
        context = self.state.permission_context
        behaviors = (PermissionBehavior.DENY, PermissionBehavior.ASK, PermissionBehavior.ALLOW)
        own = [rule for behavior in behaviors for rules in context.rules(behavior).values() for rule in rules]
        return sorted([*own, *self.grants], key=lambda rule: behaviors.index(rule.behavior))

    def add_rule(
        self, rule: PermissionRule | str, behavior: PermissionBehavior | str = PermissionBehavior.ALLOW
    ) -> PermissionRule:
        """Add a rule, or the text of one; ValueError says what is wrong with the text."""
        made = PermissionRule.parse(rule, behavior) if isinstance(rule, str) else rule
        self.engine.add_rule(made)
        return made

    def remove_rule(self, rule: PermissionRule | str) -> list[PermissionRule]:
        """Take out a rule, or every rule of that text; KeyError where there is none."""
        gone = [held for held in self.rules if held == rule or str(held) == str(rule)]
        if not gone:
            raise KeyError(f"no rule reads {str(rule)!r}; `rules` lists those that there are")
        for each in gone:
            self.engine.remove_rule(each)
        return gone

    def grant(self, *rules: PermissionRule | str, calls: int | None = None) -> Grant:
        """Allow what the rules cover inside a ``with`` block, at most ``calls`` times."""
        return self.grants.grant(rules, calls)

    async def explain(self, name: str, tool_input: Mapping[str, Any]) -> Explanation:
        """How a call would be judged, step by step, and the smallest change that would decide otherwise."""
        tool = await self.find(name)
        return await self.engine.explain(tool, tool.validate_input(dict(tool_input)).json)

    def explain_sync(self, name: str, tool_input: Mapping[str, Any]) -> Explanation:
        """``explain`` for a plain cell."""
        return self._run(self.explain(name, tool_input))

    @property
    def engine(self) -> PermissionEngine:
        """The engine that judges the notebook's own conversation."""
        return self.engine_for(self.state)

    def engine_for(self, state: AgentState) -> PermissionEngine:
        """The engine that judges that conversation's calls, by the permission context that it has now."""
        held = self._engines.get(id(state))
        if held is None or held[0] is not state or held[1].context is not state.permission_context:
            if len(self._engines) >= MAX_ENGINES:
                self._engines.pop(next(iter(self._engines)))
            held = self._engines[id(state)] = (state, PermissionEngine(state.permission_context, self.grants))
        return held[1]

    def remember(self, engine: PermissionEngine, approval: Approval, request: ApprovalRequest) -> Remembered:
        """Keep what a person allowed for longer than one call; gives what is kept, and a note where it is less."""
        if self.tape is not None:
            return self.tape.remember(engine, approval, request)
        return engine.remember(approval, request)


def _is_state(value: object) -> bool:
    from nbtoolkit.state import AgentState

    return isinstance(value, AgentState)


# What people set on a toolkit: what it is checked by, and how that is said.
_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "state": (_is_state, "an AgentState, what one conversation has switched on and read"),
    "approver": (
        lambda value: value is None or callable(value),
        "None or an approver, `async (request) -> Approval`",
    ),
}


def _checked(given: C, *others: type) -> C:
    """What was given for a call, where it is one."""
    if isinstance(given, (ToolCallBlock, *others)):
        return given
    raise TypeError(
        f"expected a ToolCallBlock, but got {given!r}. ToolCallBlock(name=…, input=…) makes one of a model's text, "
        "`await toolkit.call(name, …)` calls by arguments, and `await toolkit.run_calls(reply)` takes a model's whole reply."
    )


def _started(call: ToolCall, start: Any) -> asyncio.Task[ToolResponse]:
    task: asyncio.Task[ToolResponse] = start(call.complete(), name=call.block.__dict__["name"])
    return task


async def _together(
    given: Sequence[ToolCallBlock | ToolCall], made: Callable[[ToolCallBlock | ToolCall], ToolCall]
) -> list[ToolResponse]:
    """Run them side by side; each call is made when it begins and let go when it has ended."""
    if not given:
        return []
    if len(given) == 1:
        return [await made(given[0])]
    import asyncio

    loop = asyncio.get_running_loop()
    # What create_task comes to where nobody has put a factory in, in half the time.
    start: Any = loop.create_task if loop.get_task_factory() is not None else partial(asyncio.Task, loop=loop)
    responses: dict[int, ToolResponse] = {}
    begun: list[asyncio.Task[ToolResponse]] = []
    waiting: dict[int, asyncio.Task[ToolResponse]] = {}
    try:
        for first in range(0, len(given), AT_ONCE):
            begun = [_started(made(each), start) for each in given[first : first + AT_ONCE]]
            # Each has run up to its first wait when this comes back, and most never wait: gathering costs a task's half.
            await asyncio.sleep(0)
            for number, task in enumerate(begun, first):
                if task.done():
                    responses[number] = task.result()
                else:
                    waiting[number] = task
        if waiting:
            ended = await asyncio.gather(*waiting.values())
            responses.update(zip(waiting, ended, strict=True))
    except BaseException:
        # One that goes up takes the others with it, and none may run on behind the caller's back.
        left = {*begun, *waiting.values()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        raise
    return [responses[number] for number in range(len(given))]

"""Toolkit, the one registry of functions, MCP servers and skills, and the way in to every call."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from nbtoolkit import hooks
from nbtoolkit.exception import ToolGroupInactiveError, ToolNotFoundError
from nbtoolkit.permission.engine import PermissionEngine
from nbtoolkit.permission.grants import Grants
from nbtoolkit.permission.rule import PermissionBehavior, PermissionMode, PermissionRule
from nbtoolkit.state import AgentState
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import BASIC, ResetTools, ToolGroup
from nbtoolkit.tool.log import CallLog, Results
from nbtoolkit.tool.schemas import FORMATS, SchemaCache

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
    from pathlib import Path

    from nbtoolkit.mcp.client import MCPClient
    from nbtoolkit.message import ToolCallBlock
    from nbtoolkit.permission.approval import Approval, ApprovalRequest, Approver
    from nbtoolkit.permission.explain import Explanation
    from nbtoolkit.permission.grants import Grant
    from nbtoolkit.permission.remember import Remembered
    from nbtoolkit.skill import Skill, SkillLoaderBase
    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.run import ToolCall

__all__ = ["Toolkit"]

T = TypeVar("T")

# Conversations other than the notebook's own, whose engines are kept ready.
MAX_ENGINES = 64


class Toolkit:
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
        self.state = AgentState()
        # What people granted holds for every conversation here, whatever rules each brings.
        self.grants = Grants()
        self.approver: Approver | None = None
        self.log = CallLog()
        self.results = Results()
        self.external = ExternalCalls()
        self.tool_groups: list[ToolGroup] = [ToolGroup(BASIC)]
        self._index: dict[str, tuple[ToolBase, ToolGroup]] = {}
        self._schemas = SchemaCache()
        self._engines: dict[int, tuple[AgentState, PermissionEngine]] = {}
        self._reset_tools = ResetTools(lambda: self.tool_groups[1:])
        self._skill_viewer: ToolBase | None = None
        self._fill(self.tool_groups[0], tools, skills_or_loaders, mcps)
        names = [group.name for group in tool_groups or ()]
        if len(set(names)) != len(names):
            raise ValueError("Tool groups must not contain duplicate tool groups.")
        for group in tool_groups or ():
            self.add_group(group)

    def __repr__(self) -> str:
        return f"Toolkit({len(self._index)} tools in {len(self.tool_groups)} groups, {len(self.mcps)} MCP servers)"

    # ------------------------------------------------------------------ groups
    def add_group(self, group: ToolGroup) -> ToolGroup:
        """Add a group; its tools come under this toolkit's names."""
        if group.name == BASIC:
            raise ValueError("The 'basic' tool group is reserved: it holds what is always on. Choose another name.")
        if any(held.name == group.name for held in self.tool_groups):
            raise ValueError("Tool groups must not contain duplicate tool groups.")
        tools, group.tools = group.tools, []
        mcps, group.mcps = group.mcps, []
        self._fill(group, tools, None, mcps)
        self.tool_groups.append(group)
        self._schemas.drop(self._reset_tools)
        return group

    def group(self, name: str) -> ToolGroup:
        """The group of that name, else a KeyError that names those that exist."""
        for group in self.tool_groups:
            if group.name == name:
                return group
        held = ", ".join(group.name for group in self.tool_groups)
        raise KeyError(f"no tool group is called {name!r}; the groups are {held}")

    def activate(self, name: str) -> None:
        """Switch a group on in the notebook's own conversation."""
        active = self.state.tool_context.activated_groups
        if self.group(name).name != BASIC and name not in active:
            active.append(name)

    def deactivate(self, name: str) -> None:
        """Switch a group off; basic stays."""
        if self.group(name).name == BASIC:
            raise ValueError("The 'basic' tool group is reserved: it is always on.")
        active = self.state.tool_context.activated_groups
        if name in active:
            active.remove(name)

    def is_active(self, group: ToolGroup, state: AgentState | None = None) -> bool:
        """Whether a group is on in that conversation."""
        state = self.state if state is None else state
        return group.name == BASIC or group.name in state.tool_context.activated_groups

    # ------------------------------------------------------------------ registering
    def register(self, tool: ToolBase | Callable[..., Any], group_name: str = BASIC) -> ToolBase:
        """Add one tool, or a function as one; a group that isn't there is made. The same thing replaces itself."""
        made = tool if isinstance(tool, ToolBase) else FunctionTool(tool)
        name = made.name
        if name in {self._reset_tools.name, "Skill"}:
            raise ValueError(f"the name {name!r} belongs to the toolkit's own tool; choose another one")
        held = self._index.get(name)
        if held is not None:
            old, group = held
            if old.identity != made.identity:
                raise ValueError(
                    f"two different tools are called {name!r}: {_owner(old)}, in group {group.name!r}, and "
                    f"{_owner(made)}. Give one of them another name, or remove the first."
                )
            group.tools[group.tools.index(old)] = made
            self._forget(old, made)
        else:
            try:
                group = self.group(group_name)
            except KeyError:
                group = self.add_group(ToolGroup(group_name, f"The tools of the group {group_name}."))
            group.tools.append(made)
        self._index[name] = (made, group)
        return made

    async def add_tool(
        self,
        tool: ToolBase | MCPClient | Callable[..., Any] | Iterable[ToolBase | MCPClient | Callable[..., Any]],
        group_name: str = BASIC,
    ) -> None:
        """Add a tool, a function, an MCP client, or several."""
        self.add_tool_sync(tool, group_name)

    def add_tool_sync(
        self,
        tool: ToolBase | MCPClient | Callable[..., Any] | Iterable[ToolBase | MCPClient | Callable[..., Any]],
        group_name: str = BASIC,
    ) -> None:
        """``add_tool`` for a plain cell."""
        for each in tool if isinstance(tool, list | tuple | set) else [tool]:
            if _is_client(each):
                self._attach(each, self.group(group_name))
            elif isinstance(each, ToolBase) or callable(each):
                self.register(each, group_name)
            else:
                raise TypeError(
                    f"{each!r} is no tool: expected a ToolBase, a function, an MCPClient, or a list of them"
                )

    async def remove_tool(self, name: str | Iterable[str]) -> None:
        """Take tools out by name, or an MCP server with its tools; KeyError names what isn't there."""
        self.remove_tool_sync(name)

    def remove_tool_sync(self, name: str | Iterable[str]) -> None:
        """``remove_tool`` for a plain cell."""
        for each in [name] if isinstance(name, str) else list(name):
            held = self._index.pop(each, None)
            if held is not None:
                held[1].tools.remove(held[0])
                self._schemas.drop(held[0])
                continue
            for group in self.tool_groups:
                client = next((client for client in group.mcps if client.name == each), None)
                if client is not None:
                    group.mcps.remove(client)
                    break
            else:
                raise KeyError(f"no tool or MCP server is called {each!r}{self._near(each)}")

    def clear(self) -> None:
        """Take out all tools, groups, servers and skills; log, rules and mode stay."""
        self.tool_groups = [ToolGroup(BASIC)]
        self._index.clear()
        self._schemas.clear()
        self.state.tool_context.activated_groups.clear()

    def _fill(
        self,
        group: ToolGroup,
        tools: Sequence[ToolBase | Callable[..., Any]] | None,
        skills_or_loaders: Sequence[str | Path | Skill | SkillLoaderBase] | None,
        mcps: Sequence[MCPClient] | None,
    ) -> None:
        for tool in tools or ():
            made = tool if isinstance(tool, ToolBase) else FunctionTool(tool)
            held = self._index.get(made.name)
            if held is not None and held[0] is not made:
                raise ValueError(
                    f"two different tools are called {made.name!r}: {_owner(held[0])}, in group {held[1].name!r}, "
                    f"and {_owner(made)}. Give one of them another name."
                )
            group.tools.append(made)
            self._index[made.name] = (made, group)
        group.skills_or_loaders.extend(skills_or_loaders or ())
        for client in mcps or ():
            self._attach(client, group)

    def _attach(self, client: MCPClient, group: ToolGroup) -> None:
        if client.is_stateful and not client.is_connected:
            raise ValueError(f"The MCP client '{client.name}' is stateful, but not connected.")
        for held_by in self.tool_groups:
            for held in held_by.mcps:
                if held.name == client.name:
                    held_by.mcps[held_by.mcps.index(held)] = client
                    return
        group.mcps.append(client)

    def _forget(self, old: ToolBase, new: ToolBase) -> None:
        self._schemas.drop(old)
        self.engine.redefined(new)

    # ------------------------------------------------------------------ looking up
    @property
    def mcps(self) -> list[MCPClient]:
        """The MCP servers of all groups."""
        return [client for group in self.tool_groups for client in group.mcps]

    def find_now(self, name: str, state: AgentState | None = None) -> ToolBase | None:
        """The registered tool of that name in an active group; None where ``find`` has to look further or to say why."""
        held = self._index.get(name)
        return None if held is None or not self.is_active(held[1], state) else held[0]

    async def find(self, name: str, state: AgentState | None = None) -> ToolBase:
        """The tool of that name in an active group; ToolNotFoundError or ToolGroupInactiveError."""
        held = self._index.get(name)
        if held is None:
            held = await self._find_elsewhere(name)
        tool, group = held
        if not self.is_active(group, state):
            raise ToolGroupInactiveError(
                f"The tool '{name}' in group '{group.name}' is currently inactive. You should first activate the "
                "group by calling the 'reset_tools' tool."
            )
        return tool

    async def _find_elsewhere(self, name: str) -> tuple[ToolBase, ToolGroup]:
        basic = self.tool_groups[0]
        for meta in self._meta_tools():
            if meta.name == name:
                return meta, basic
        if name.startswith("mcp__"):
            for group in self.tool_groups:
                for client in group.mcps:
                    for tool in await self._tools_of(client):
                        if tool.name == name:
                            return tool, group
        raise ToolNotFoundError(f"The tool named '{name}' doesn't exist.{self._near(name)}")

    def _near(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, [*self._index, *(client.name for client in self.mcps)], n=1)
        return f" Did you mean '{close[0]}'?" if close else ""

    async def _tools_of(self, client: MCPClient) -> Sequence[ToolBase]:
        """A server's tools; one that is down costs its own tools, with a warning, and no others."""
        try:
            return await client.list_tools()
        except Exception as error:  # noqa: BLE001 - whatever ails one server must not take the others with it
            warnings.warn(f"the MCP server {client.name!r} is left out: {error}", RuntimeWarning, stacklevel=3)
            return ()

    def _meta_tools(self) -> list[ToolBase]:
        found: list[ToolBase] = []
        if len(self.tool_groups) > 1:
            found.append(self._reset_tools)
        if any(group.skills_or_loaders for group in self.tool_groups):
            found.append(self._viewer())
        return found

    def _viewer(self) -> ToolBase:
        if self._skill_viewer is None:
            from nbtoolkit.skill import SkillViewer

            self._skill_viewer = SkillViewer(self._active_skill_sources)
        return self._skill_viewer

    def _active_skill_sources(self) -> list[str | Path | Skill | SkillLoaderBase]:
        return [each for group in self.tool_groups if self.is_active(group) for each in group.skills_or_loaders]

    async def all_tools(self) -> list[tuple[ToolGroup, ToolBase]]:
        """Every tool with its group, active or not, in the order of registration."""
        found: list[tuple[ToolGroup, ToolBase]] = [(self.tool_groups[0], meta) for meta in self._meta_tools()]
        for group in self.tool_groups:
            found.extend((group, tool) for tool in group.tools)
            for client in group.mcps:
                found.extend((group, tool) for tool in await self._tools_of(client))
        return found

    def all_tools_sync(self) -> list[tuple[ToolGroup, ToolBase]]:
        """``all_tools`` for a plain cell."""
        return self._run(self.all_tools())

    async def get_tool(self, name: str) -> ToolBase | None:
        """The tool of that name, in whatever group, or None."""
        held = self._index.get(name)
        if held is not None:
            return held[0]
        try:
            return (await self._find_elsewhere(name))[0]
        except ToolNotFoundError:
            return None

    def get_tool_sync(self, name: str) -> ToolBase | None:
        """``get_tool`` for a plain cell."""
        return self._run(self.get_tool(name))

    async def check_tool_available(self, name: str, groups: Sequence[str] | None = None) -> bool:
        """Whether a tool can be called when these groups are on; None means those that are on now."""
        held = self._index.get(name)
        if held is None:
            try:
                held = await self._find_elsewhere(name)
            except ToolNotFoundError:
                return False
        group = held[1]
        return self.is_active(group) if groups is None else group.name == BASIC or group.name in groups

    async def get_tool_schemas(
        self,
        groups: Sequence[str] | None = None,
        format: str = "openai",  # noqa: A002
    ) -> list[dict[str, Any]]:
        """The schemas of basic and of the groups named; None means those that are on now.

        ``format``: openai, openai_responses, anthropic, gemini or mcp. The parameters are shared and refuse to be
        changed; ``copy.deepcopy`` gives ordinary ones.
        """
        try:
            form = FORMATS[format]
        except KeyError:
            raise ValueError(f"{format!r} is no schema format; expected one of {', '.join(FORMATS)}") from None
        for name in groups or ():
            self.group(name)
        tools = self._meta_tools()
        for group in self.tool_groups:
            if not (self.is_active(group) if groups is None else group.name == BASIC or group.name in groups):
                continue
            tools += group.tools
            for client in group.mcps:
                tools += await self._tools_of(client)
        return self._schemas.schemas(tools, form)

    def get_tool_schemas_sync(
        self,
        groups: Sequence[str] | None = None,
        format: str = "openai",  # noqa: A002
    ) -> list[dict[str, Any]]:
        """``get_tool_schemas`` for a plain cell."""
        return self._run(self.get_tool_schemas(groups, format))

    async def get_skill_instructions(self) -> str:
        """The index of the active groups' skills, for a system prompt; empty without skills."""
        sources = self._active_skill_sources()
        if not sources:
            return ""
        from nbtoolkit.skill import skill_index

        return await skill_index(sources)

    # ------------------------------------------------------------------ calling
    def call_tool(
        self, tool_call: ToolCallBlock, state: AgentState | None = None, approver: Approver | None = None
    ) -> ToolCall:
        """Run a model's call: await it for the ToolResponse, or iterate for its chunks and then the ToolResponse."""
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
        calls = [each if isinstance(each, kind) else kind(self, each, state, approver) for each in tool_calls]
        responses: list[ToolResponse] = []
        batch: list[ToolCall] = []
        for call in calls:
            held = self._index.get(call.name)
            tool = held[0] if held is not None else await self.get_tool(call.name)
            if tool is None or tool.is_concurrency_safe:
                batch.append(call)
                continue
            responses += await _together(batch)
            batch = []
            responses.append(await call)
        return responses + await _together(batch)

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

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        __tracebackhide__ = True
        result: T = hooks.drive(coroutine)
        return result

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
        return engine.remember(approval, request)


def _owner(tool: ToolBase) -> str:
    return f"{tool.origin} ({'.'.join(tool.identity)})"


def _is_client(value: object) -> TypeGuard[MCPClient]:
    # By its shape, not its class: importing the MCP package for every function would cost more than the function.
    return hasattr(value, "list_tools") and hasattr(value, "is_stateful")


async def _together(calls: list[ToolCall]) -> list[ToolResponse]:
    if not calls:
        return []
    if len(calls) == 1:
        return [await calls[0]]
    import asyncio

    tasks = [asyncio.create_task(call.complete()) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        # One that goes up takes the others with it, and none may run on behind the caller's back.
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise

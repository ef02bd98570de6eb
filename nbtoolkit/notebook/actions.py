"""What each subcommand of ``%toolkit`` does: one small function each, over a Session and a Command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook import render, tables, views
from nbtoolkit.notebook.arguments import parse_arguments
from nbtoolkit.notebook.command import CommandError, Spec, nearest
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.notebook.recorder import is_recorded
from nbtoolkit.notebook.schemas import PROVIDERS, sent
from nbtoolkit.notebook.session import Session, mistakes, one_of, result_is_used
from nbtoolkit.notebook.text import box, code, count, safe, settled, soft, table
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.files import FileChange, FileFault
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import BASIC, ToolGroup
from nbtoolkit.tool.schemas import FORMATS

if TYPE_CHECKING:
    from nbtoolkit.notebook.command import Command
    from nbtoolkit.notebook.tables import Bundle

__all__ = ["ACTIONS", "Action", "action", "joined", "number_of", "texts_of"]

Action = Callable[[Session, "Command"], Any]
ACTIONS: dict[str, Action] = {}

# Tools that come by themselves with a group or a skill.
_OWN = frozenset({"reset_tools", "Skill"})
# What a saved notebook keeps of the panel; `list` has all.
PANEL_ROWS = 100
# How a call came to an end that left nothing.
ENDED = {
    ToolResultState.DENIED: "was denied",
    ToolResultState.ERROR: "ended in an error",
    ToolResultState.INTERRUPTED: "was interrupted",
}


def action(*names: str) -> Callable[[Action], Action]:
    """Enter a function under the subcommands that it does."""

    def enter(function: Action) -> Action:
        for name in names:
            ACTIONS[name] = function
        return function

    return enter


def joined(*bundles: Bundle) -> Bundle:
    """Several displays as one, below each other."""
    return {
        "text/plain": "\n\n".join(bundle["text/plain"] for bundle in bundles),
        "text/html": "".join(bundle["text/html"] for bundle in bundles),
    }


# ------------------------------------------------------------------------------------------------------------ looking


def _tools_table(
    session: Session, tools: list[tuple[ToolGroup, ToolBase]] | None = None, most: int | None = None
) -> Bundle:
    toolkit = session.toolkit
    off = [group.name for group in toolkit.tool_groups if not toolkit.is_active(group)]
    return render.tools_table(session.tools() if tools is None else tools, off=off, most=most)


@action("")
def panel(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """Tools, servers, mode and what else there is."""
    toolkit = session.toolkit
    parts = [_tools_table(session, most=PANEL_ROWS)]
    if toolkit.mcps:
        parts.append(render.servers_table(toolkit.mcps))
    said = [f"Mode {toolkit.mode}", count(len(toolkit.rules), "rule"), f"{count(len(toolkit.log), 'call')} in the log"]
    if toolkit.tape is not None:
        said.append(f"{toolkit.tape.doing} {toolkit.tape.cassette.name}")
    parts.append(tables.message(" · ".join(said)))
    views.show_panel(session, joined(*parts))


@action("list")
def list_tools(session: Session, command: Command) -> None:  # noqa: ARG001
    """The tools by group."""
    session.show(_tools_table(session))


@action("schema")
def schema(session: Session, command: Command) -> None:
    """One tool's schema, for a person or as JSON."""
    form = command.option("--format")
    if form is not None:
        one_of(form, FORMATS, "format")
    group, tool = session.tool(command.words[0].expand(session.evaluate))
    if form is None:
        views.show_schema(session, tool, group, render.schema_view(tool, group=group.name))
    else:
        session.show(render.schema_view(tool, group=group.name, sent=sent(tool, form), form=PROVIDERS[form]))


def number_of(session: Session, command: Command) -> int:
    """The number of a call that a line names."""
    number = command.words[0].expand(session.evaluate)
    if not number.isdecimal():
        raise CommandError(f"expected the number of a call, as %toolkit log shows it, but got {number!r}")
    return int(number)


@action("help")
def show_help(session: Session, command: Command) -> None:
    """How the subcommands are written."""
    name = " ".join(word.text for word in command.words)
    if not name:
        session.show(_overview())
        return
    if name not in SPECS:
        under = [spec for known, spec in SPECS.items() if known.startswith(f"{name} ")]
        if not under:
            raise CommandError(
                f"%toolkit has no subcommand {name!r}{nearest(name, SPECS) or ';'} %toolkit help lists them all"
            )
        session.show(joined(*(_explained(spec) for spec in under)))
        return
    session.show(_explained(SPECS[name]))


def _overview() -> Bundle:
    # One sentence each; the rest is for `help SUB`.
    rows = [
        (spec.usage, spec.does.partition("; ")[0].partition(": ")[0].partition(". ")[0].rstrip("."))
        for spec in SPECS.values()
    ]
    more = "%toolkit help SUB says more about one."
    plain = "\n".join(f"{usage}\n    {does}" for usage, does in rows)
    markup = table(["Written", "Does"], [[code(usage), safe(does)] for usage, does in rows])
    return {"text/plain": f"{plain}\n{more}", "text/html": box(markup + soft(safe(more)))}


def _explained(spec: Spec) -> Bundle:
    percent = "%%" if spec.body == "must" else "%"
    lines = [spec.usage, f"  {spec.does}"]
    if spec.example:
        lines.append(f"  {percent}toolkit {spec.example}")
    if "arguments" in spec.kinds:
        lines += [
            "  A value is JSON where it parses as JSON, else a text; quotes keep blanks together.",
            "  A whole value $name or {expression} is that Python value: limit=$rows limit={rows * 2}.",
            "  Inside longer text, and in quotes, $ and braces stay as they are: command={f'wc -l {path}'} puts a value in.",
            "  A line that ends in ? is IPython's own help: put quotes around such a value.",
            "  Inside an expression or an f-string write toolkit.call_sync('NAME', key=value).value instead.",
        ]
    head, does, *rest = (line.strip() for line in lines)
    markup = f'<p style="margin:0"><b>{code(head)}</b><br>{safe(does)}</p>'
    markup += "".join(f'<p style="margin:0">{code(line) if line[0] == "%" else soft(safe(line))}</p>' for line in rest)
    return {"text/plain": "\n".join(lines), "text/html": box(markup)}


# ------------------------------------------------------------------------------------------------------------ calling


def _arguments(session: Session, command: Command) -> tuple[str, dict[str, Any]]:
    name = command.words[0].expand(session.evaluate)
    before, bracket, _ = name.partition("(")
    if bracket:
        raise CommandError(f"{name!r} is no tool's name; arguments stand behind it: %toolkit call {before} key=value")
    group, tool = session.tool(name)
    if not session.toolkit.is_active(group):
        raise CommandError(
            f"the tool {name!r} is in the group {group.name!r}, which is off: %toolkit activate {group.name}"
        )
    return name, parse_arguments(name, command.words[1:], command.body, tool.input_schema, session.evaluate)


@action("call")
def call(session: Session, command: Command) -> Any:
    """Call a tool through the pipeline; the response where the line's result is used, else None."""
    __tracebackhide__ = True
    name, arguments = _arguments(session, command)
    response = session.toolkit.call_sync(name, **arguments)
    if not is_recorded(response):
        response._ipython_display_()
    session.keep(response.value)
    return response if result_is_used() else None


@action("undo")
def undo(session: Session, command: Command) -> None:
    """Take back what one call did to a file."""
    number = number_of(session, command)
    ended = next((entry for entry in session.toolkit.log if entry.number == number), None)
    if ended is not None and ended.state is not ToolResultState.SUCCESS:
        raise CommandError(f"call {number}, of {ended.tool}, {ENDED[ended.state]}, so there is nothing to take back")
    with mistakes():
        value = session.toolkit.results[number]
        if not isinstance(value, FileChange):
            raise CommandError(
                f"call {number} changed no file by Write or Edit, so there is nothing to take back; "
                "what a command or a function did is out of reach"
            )
        try:
            said = value.undo()
        except FileFault as fault:
            raise CommandError(settled(str(fault))) from None
    session.say(settled(said))


@action("why")
def why(session: Session, command: Command) -> None:
    """What would be decided of a call, and why."""
    name, arguments = _arguments(session, command)
    with mistakes():
        explanation = session.toolkit.explain_sync(name, arguments)
    session.show(render.explanation(explanation))


# -------------------------------------------------------------------------------------------------- tools and groups


@action("tool")
def tool_cell(session: Session, command: Command) -> None:
    """Run the cell and make its functions tools."""
    __tracebackhide__ = True
    name, group = command.option("--name"), command.option("--group") or BASIC
    defined = session.run(command.body or "")
    namespace = session.shell.user_ns
    functions = {each: namespace[each] for each in defined if not each.startswith("_") and each in namespace}
    if not functions:
        raise CommandError("the cell defines no function (names that begin with _ are left alone)")
    if name is not None and len(functions) > 1:
        raise CommandError(f"--name is for one function, but the cell defines {', '.join(functions)}")
    # A decorator in the cell may have made it a tool already, with options of its own.
    made = {id(tool.func) for _, tool in session.tools() if isinstance(tool, FunctionTool)}
    with mistakes():
        for function in functions.values():
            if id(function) not in made:
                tool = FunctionTool(function, name=name, is_read_only=command.has("--read-only"))
                session.toolkit.register(tool, group)
    wanted = {id(function) for function in functions.values()}
    session.show(
        _tools_table(
            session,
            [(g, t) for g, t in session.tools() if isinstance(t, FunctionTool) and id(t.func) in wanted],
        )
    )


@action("add")
def add(session: Session, command: Command) -> None:
    """Add what an expression gives."""
    # A single $name is a habit from other values; here the name alone is Python.
    value = session.evaluate(command.rest.removeprefix("$"), or_text=False)
    group = command.option("--group", session.evaluate) or BASIC
    known = {id(tool) for _, tool in session.tools()}
    for each in value if isinstance(value, list | tuple | set) else [value]:
        if isinstance(each, type) and issubclass(each, ToolBase):
            raise CommandError(f"{each.__name__} is a class of tools; write {each.__name__}() to make one")
        with mistakes():
            if isinstance(each, ToolBase) or (callable(each) and not hasattr(each, "list_tools")):
                known.discard(id(session.toolkit.register(each, group)))
                continue
            if isinstance(each, Mapping):
                raise CommandError(
                    f"{command.rest} is a dict; expected a function, a tool, an MCP client, or a list of them"
                )
            if hasattr(each, "list_tools"):
                if each.is_stateful and not each.is_connected:
                    hooks.drive(each.connect())
                known -= {id(tool) for _, tool in session.tools() if tool.mcp_name == each.name}
            session.toolkit.add_tool_sync(each, group)
    new = [(held, tool) for held, tool in session.tools() if id(tool) not in known and tool.name not in _OWN]
    session.show(_tools_table(session, new))


@action("remove")
def remove(session: Session, command: Command) -> None:
    """Take tools out."""
    names = texts_of(session, command)
    known = [tool.name for _, tool in session.tools()]
    for name in names:
        one_of(name, known, "tool")
    with mistakes():
        session.toolkit.remove_tool_sync(names)
    session.say(f"Removed {', '.join(names)}.")


@action("group")
def group(session: Session, command: Command) -> None:
    """Make a group or change its description."""
    toolkit, name = session.toolkit, command.words[0].expand(session.evaluate)
    description = command.option("--description", session.evaluate)
    if description is not None and not description.strip():
        raise CommandError("--description expects a text, by which a model decides to switch the group on")
    held = next((each for each in toolkit.tool_groups if each.name == name), None)
    if held is None:
        if description is None:
            names = [each.name for each in toolkit.tool_groups]
            raise CommandError(
                f"no tool group is called {name!r}{nearest(name, names) or ';'} a new one needs "
                "--description TEXT, by which a model decides to switch it on"
            )
        with mistakes():
            held = toolkit.add_group(ToolGroup(name, description))
    elif description is not None:
        held.description = description
    _say_groups(session, [held])


@action("activate", "deactivate")
def switch(session: Session, command: Command) -> None:
    """Switch groups on or off."""
    groups = [session.group(name) for name in texts_of(session, command)]
    change = session.toolkit.activate if command.name == "activate" else session.toolkit.deactivate
    for each in groups:
        with mistakes():
            change(each.name)
    _say_groups(session, groups)


def _say_groups(session: Session, groups: list[ToolGroup]) -> None:
    for each in groups:
        state = "on" if session.toolkit.is_active(each) else "off"
        session.say(f"Group {each.name}, {state}, {count(len(each.tools), 'tool')}: {each.description}")


def texts_of(session: Session, command: Command) -> list[str]:
    """The words of a line, with the notebook's values in them."""
    return [word.expand(session.evaluate) for word in command.words]

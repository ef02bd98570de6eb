"""The magic in a real IPython shell, in this process: what a cell shows, what it leaves behind, how it fails."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from nbtoolkit import hooks
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook import magics, questions, recorder, scheduling, views
from nbtoolkit.notebook.approver import InlineApprover
from nbtoolkit.notebook.completion import Matcher
from nbtoolkit.notebook.scheduling import Means, Presence
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.rule import PermissionMode
from nbtoolkit.permission.store import Store
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.toolkit import Toolkit
from nbtoolkit.tool.write import Write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtoolkit.tool.result import ToolResponse
    from nbtoolkit.tool.run import ToolCall

PLAIN = Path(__file__).parent.parent / "mcp" / "servers" / "plain.py"


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


def echo(text: str, note: str | None = None, where: dict[str, Any] | None = None) -> list[Any]:
    """Give back what came."""
    return [text, note, where]


@dataclass
class Ran:
    """What one cell did."""

    shown: list[dict[str, str]]
    stdout: str
    stderr: str
    error: BaseException | None
    result: Any

    @property
    def text(self) -> str:
        """All that a reader sees."""
        return "\n".join([self.stdout, *(bundle.get("text/plain", "") for bundle in self.shown)]).strip()


@dataclass
class Desk:
    """A shell with a toolkit, and an approver that answers as told."""

    shell: InteractiveShell
    toolkit: Toolkit
    answers: list[Approval] = field(default_factory=list)
    asked: list[ApprovalRequest] = field(default_factory=list)

    async def approve(self, request: ApprovalRequest) -> Approval:
        self.asked.append(request)
        return self.answers.pop(0) if self.answers else Approval.allow()

    def run(self, cell: str) -> Ran:
        with capture_output() as captured:
            result = self.shell.run_cell(cell, store_history=True)  # type: ignore[no-untyped-call]
        shown = [output.data for output in captured.outputs]
        error = result.error_before_exec or result.error_in_exec
        return Ran(shown, captured.stdout, captured.stderr, error, result.result)

    def ok(self, cell: str) -> Ran:
        ran = self.run(cell)
        assert ran.error is None, f"{ran.stdout}\n{ran.stderr}\n{ran.error!r}"
        return ran

    def fault(self, cell: str) -> str:
        """The one line that a failing cell shows."""
        ran = self.run(cell)
        assert type(ran.error).__name__ == "CommandError", repr(ran.error)
        lines = ran.stdout.strip().splitlines()
        assert lines == [f"CommandError: {ran.error}"], ran.stdout
        return str(ran.error)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.cache_size = 100
    shell = InteractiveShell.instance(config=config)
    toolkit = Toolkit([FunctionTool(add, is_read_only=True), FunctionTool(echo)])
    desk = Desk(shell, toolkit)
    toolkit.approver = desk.approve
    shell.user_ns["toolkit"] = toolkit
    monkeypatch.setattr(hooks, "_toolkit", toolkit)
    monkeypatch.setattr(hooks, "drive", scheduling.drive)
    magics.register(shell, lambda: toolkit)
    yield desk
    magics.unregister(shell)
    InteractiveShell.clear_instance()


def test_it_is_one_line_and_one_cell_in_the_shells_own_list_and_leaves_that_as_it_was(desk: Desk) -> None:
    def listed() -> tuple[set[str], set[str]]:
        found = desk.shell.magics_manager.lsmagic()
        return set(found["line"]), set(found["cell"])

    assert {"%toolkit", "%%toolkit"} <= set(str(desk.ok("%lsmagic").result).split())
    with_it = listed()
    magics.unregister(desk.shell)
    without = listed()
    assert (with_it[0] - without[0], with_it[1] - without[1]) == ({"toolkit"}, {"toolkit"})
    assert without[0] | without[1] <= with_it[0] | with_it[1]


# --------------------------------------------------------------------------------------------------------------- call


def test_a_call_shows_its_result_once_and_leaves_the_value_in_underscore(desk: Desk) -> None:
    ran = desk.ok("%toolkit call add a=2 b=3")
    assert ran.text == "5"
    assert ran.result is None
    assert desk.ok("_ + 1").result == 6


TOLD = "{i} inside longer text is no variable here; write text={f'no {i}'} for its value"


@pytest.mark.parametrize(
    "cell",
    [
        'i = 1\n%toolkit call echo text="no {i}"',
        'for i in range(2):\n    %toolkit call echo text="no {i}"',
        'def f(i):\n    %toolkit call echo text="no {i}"\nf(3)',
        'def f(i):\n    r = %toolkit call echo text="no {i}"\n    return r\nf(3)',
        'i = 1\nr = %toolkit call echo text="no {i}"',
        '%%time\ni = 1\n%toolkit call echo text="no {i}"',
        '%%capture out\ni = 1\n%toolkit call echo text="no {i}"',
        'i = 1\nget_ipython().run_line_magic("toolkit", """call echo text="no {i}" """)',
        'async def f(i):\n    %toolkit call echo text="no {i}"\nawait f(3)',
        'i = 1\n%toolkit why echo text="no {i}"',
    ],
)
def test_where_a_variable_in_braces_is_not_expanded_the_line_says_what_to_write(desk: Desk, cell: str) -> None:
    ran = desk.run(cell)
    # %%capture keeps what it runs to itself, errors too.
    kept = desk.shell.user_ns["out"].stdout if "%%capture" in cell else ""
    assert TOLD in f"{ran.stdout}{ran.error}{kept}"
    assert desk.asked == []
    # What it says is right.
    desk.ok(cell.replace('"no {i}"', "{f'no {i}'}"))
    assert {request.tool_input["text"] for request in desk.asked} <= {"no 0", "no 1", "no 3"}


@pytest.mark.parametrize("cell", ["!%toolkit list", "x = !toolkit list", "!!%toolkit list"])
def test_a_line_for_the_shell_is_told_to_lose_its_mark(desk: Desk, cell: str) -> None:
    assert "write %toolkit without the !" in desk.fault(cell)
    desk.ok("!echo about the toolkit")


def test_a_wrong_name_among_a_thousand_lists_a_few(desk: Desk) -> None:
    for number in range(1_000):
        desk.toolkit.register(FunctionTool(add, name=f"zz{number:03}", is_read_only=True))
    said = desk.fault("%toolkit schema qqq")
    assert said.endswith("zz009 and 990 more")
    assert len(said) < 200


def test_a_slip_in_a_cell_of_functions_is_told_with_its_place_and_without_frames(desk: Desk) -> None:
    ran = desk.run("%%toolkit tool\ndef f(a):\n    return a +\n")
    lines = ran.stdout.strip().splitlines()
    assert lines == [
        "CommandError: line 3 of the cell is no Python: invalid syntax",
        "    return a +",
        "              ^",
    ]


def test_that_results_went_to_make_room_is_said_in_the_log(desk: Desk) -> None:
    desk.toolkit.results._maxlen = 2
    for n in range(4):
        desk.ok(f"%toolkit call add a={n}")
    assert desk.ok("%toolkit log").text.splitlines()[0] == (
        "4 calls (the results of the first 2 went to make room: kept are 2 at most, and 2 GB)"
    )
    assert desk.ok("toolkit.results[4]").result == 4


def test_a_text_from_an_f_string_arrives_with_its_values(desk: Desk) -> None:
    desk.ok("for i in range(2):\n    get_ipython().run_line_magic('toolkit', f'call echo text=\"no {i}\"')")
    assert [request.tool_input["text"] for request in desk.asked] == ["no 0", "no 1"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("skill add {root}/skills", "write {f'{root}/skills'} for its value"),
        ("allow Read({root}/**)", "write {f'Read({root}/**)'} for its value"),
        ("log --jsonl {root}/log.jsonl", "write {f'{root}/log.jsonl'} for its value"),
    ],
)
def test_so_does_a_line_of_any_subcommand(desk: Desk, line: str, said: str) -> None:
    desk.ok("root = 'here'")
    assert said in desk.fault(f"%toolkit {line}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # What fits the argument goes before what is only spelled like it.
        ("call add a=$sale", "the notebook has no variable 'sale' for 'a'; did you mean 'sales_7'?"),
        ("call echo text=$sale", "the notebook has no variable 'sale' for 'text'; did you mean 'sales'?"),
        ("call echo where=$sale", "the notebook has no variable 'sale' for 'where'; did you mean 'sales_of'?"),
        # Nothing that fits is spelled like it.
        ("call add a=$lod", "the notebook has no variable 'lod' for 'a'; did you mean 'load'?"),
        # A person's own variables alone: no builtin, no private name, no module, nothing of IPython's or ours.
        ("call add a=$nope", "the notebook has no variable 'nope' for 'a'"),
        ("call add a=$opn", "the notebook has no variable 'opn' for 'a'"),
        ("call add a=$hiden", "the notebook has no variable 'hiden' for 'a'"),
        ("call add a=$jsn", "the notebook has no variable 'jsn' for 'a'"),
        ("call add a=$toolkt", "the notebook has no variable 'toolkt' for 'a'"),
        ("add lod", "the notebook has no variable 'lod'; did you mean 'load'?"),
    ],
)
def test_a_wrong_name_is_told_with_near_ones_that_fit_and_are_a_persons_own(desk: Desk, line: str, said: str) -> None:
    desk.ok("import json\nsales = 'north'\nsales_7 = 7\nsales_of = {'a': 1}\n_hidden = 1\ndef load(): ...")
    assert desk.fault(f"%toolkit {line}").endswith(said)


def test_underscores_and_out_shift_as_for_any_result(desk: Desk) -> None:
    desk.ok("%toolkit call add a=2 b=3")
    desk.ok("%toolkit call add a=2 b=4")
    assert desk.ok("(_, __, Out[1], _2)").result == (6, 5, 5, 6)


def test_a_call_within_a_cell_is_in_underscore_on_the_next_line(desk: Desk) -> None:
    assert desk.ok("%toolkit call add a=2\nx = _ * 10").text == "3"
    assert desk.shell.user_ns["x"] == 30


def test_a_line_assigned_gives_the_response(desk: Desk) -> None:
    desk.ok("r = %toolkit call add a=2")
    response = desk.shell.user_ns["r"]
    assert (response.state, response.value) == (ToolResultState.SUCCESS, 3)


def test_a_line_inside_an_expression_of_python_gives_the_response_too(desk: Desk) -> None:
    desk.ok("x = [get_ipython().run_line_magic('toolkit', f'call add a={i}').value for i in (1, 2)]")
    assert desk.shell.user_ns["x"] == [2, 3]


def test_json_below_the_line_is_the_arguments(desk: Desk) -> None:
    desk.ok('%%toolkit call echo\n{"text": "a\\nb",\n "where": {"x": [1, {"y": null}]}}')
    assert desk.shell.user_ns["_"] == ["a\nb", None, {"x": [1, {"y": None}]}]


def test_braces_dollars_and_quotes_reach_the_call_as_they_were_typed(desk: Desk) -> None:
    desk.shell.user_ns["a"] = "expanded"
    desk.ok("""%toolkit call echo text="{b} $a" note='it is ${a}' where={"a": "{a}"}""")
    assert desk.shell.user_ns["_"] == ["{b} $a", "it is ${a}", {"a": "{a}"}]


def test_a_variable_or_an_expression_stands_for_a_whole_value(desk: Desk) -> None:
    desk.ok("n = 4\n%toolkit call add a=$n b={n * 10}")
    assert desk.shell.user_ns["_"] == 44


def test_a_call_in_a_loop_sees_the_loops_variable(desk: Desk) -> None:
    assert desk.ok("for i in range(3):\n    %toolkit call add a=$i").text.split() == ["1", "2", "3"]


def test_a_call_in_a_function_sees_the_functions_variables(desk: Desk) -> None:
    desk.ok("def f(n):\n    r = %toolkit call add a=$n b={[n for _ in 'xy'][1]}\n    return r.value\nx = f(5)")
    assert desk.shell.user_ns["x"] == 10


def test_a_call_under_time_runs_once(desk: Desk) -> None:
    assert desk.ok("%%time\n%toolkit call add a=1").text.startswith("2")
    assert len(desk.toolkit.log) == 1


def test_a_call_in_an_async_cell_behaves_the_same(desk: Desk) -> None:
    desk.ok("import asyncio\nawait asyncio.sleep(0)\n%toolkit call echo text=hi\nawait asyncio.sleep(0)\nx = _")
    assert desk.shell.user_ns["x"] == ["hi", None, None]
    assert len(desk.asked) == 1


def test_a_denied_call_is_a_result_and_no_failure_of_the_cell(desk: Desk) -> None:
    desk.answers.append(Approval.deny("not today"))
    desk.ok("r = %toolkit call echo text=hi")
    response = desk.shell.user_ns["r"]
    assert response.state is ToolResultState.DENIED
    assert "not today" in response.text


def test_after_a_call_without_a_value_underscore_holds_no_older_one(desk: Desk) -> None:
    desk.answers.append(Approval.deny())
    desk.ok("%toolkit call add a=1")
    desk.ok("%toolkit call echo text=hi")
    assert desk.shell.user_ns["_"] is None


def test_wrong_arguments_are_an_error_result_that_nobody_was_asked_about(desk: Desk) -> None:
    desk.ok("r = %toolkit call echo text=a where=5")
    assert desk.shell.user_ns["r"].state is ToolResultState.ERROR
    assert "where" in desk.shell.user_ns["r"].text
    assert desk.asked == []


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%toolkit cal add a=1", "%toolkit has no subcommand 'cal'; did you mean 'call'? %toolkit help lists them all"),
        ("%toolkit call ad a=1", "no tool is called 'ad'; did you mean 'add'?"),
        ("%toolkit call zzz a=1", "no tool is called 'zzz'; there is add, echo"),
        ("%toolkit call echo(text='a')", "\"echo(text='a')\" is no tool's name; arguments stand behind it:"),
        ("%toolkit call echo text = a", "expected key=value, but got 'text' (no blanks around the =); echo takes"),
        ('%toolkit call echo {"text": "a"', "the { before '\"text\":' is never closed; expected one JSON object"),
        ("%toolkit add {}", "{} is a dict; expected a function, a tool, an MCP client, or a list of them"),
        ("%toolkit add one two", "'one two' is no Python expression"),
        ("%toolkit add $nope", "the notebook has no variable 'nope'"),
        ("%toolkit schema {}", "no tool is called '{}'; there is add, echo"),
        ("%toolkit group g --description ' '", "--description expects a text, by which a model decides"),
        ("%toolkit mode -5", "no mode is called '-5'; there is default,"),
        (
            "%toolkit rules acept",
            "expected %toolkit rules, rules reload or rules accept, but got 'acept'; did you mean",
        ),
        ("%toolkit log --jsonl /dev/null/x", "/dev/null/x: Not a directory"),
        ("%toolkit call echo txt=1", "echo has no argument 'txt'; did you mean 'text'?"),
        ("%toolkit call add a=$zero", "the notebook has no variable 'zero' for 'a'"),
        ("%toolkit call add a={1 / 0}", "1 / 0 raised ZeroDivisionError: division by zero"),
        ("%toolkit call echo where={a: 1}", "'a: 1' is neither JSON (its keys and texts need double quotes)"),
        ('%toolkit call echo text="a', "the quote \" before 'a' is never closed"),
        ("%%toolkit call echo\n{text: 1}", "expected a JSON object below %%toolkit call echo, but line 1, column 2"),
        ("%toolkit schema add --format gemni", "no format is called 'gemni'; did you mean 'gemini'?"),
        ("%toolkit mode exlore", "no mode is called 'exlore'; did you mean 'explore'?"),
        ("%toolkit activate basc", "no tool group is called 'basc'; did you mean 'basic'?"),
        ("%toolkit deactivate basic", "The 'basic' tool group is reserved"),
        ("%toolkit group reports", "no tool group is called 'reports'; a new one needs --description TEXT"),
        ("%toolkit mcp tools time", "no MCP server is called 'time'; there is no MCP server yet"),
        ("%toolkit add 5", "5 is no tool"),
        ("%toolkit add FunctionTool", "FunctionTool is a class of tools; write FunctionTool() to make one"),
        ("%toolkit allow (x)", "The rule '(x)' doesn't start with a tool's name"),
        ("%toolkit forget add", "no rule is called 'add'; there is no rule yet"),
        ("%%toolkit grant add --calls 0\n1", "--calls expects a number of calls, 1 or more, but got '0'"),
        ("%%toolkit tool\nx = 1", "the cell defines no function"),
    ],
)
def test_a_mistake_fails_the_cell_with_one_line(desk: Desk, cell: str, said: str) -> None:
    desk.shell.user_ns["FunctionTool"] = FunctionTool
    assert desk.fault(cell).startswith(said)
    assert desk.asked == []


@pytest.mark.parametrize("cell", ['x = f"{%toolkit call add a=1}"', "print(%toolkit call add a=1)", "[%toolkit list]"])
def test_inside_an_expression_the_error_says_what_to_write_instead(desk: Desk, cell: str) -> None:
    assert "toolkit.call_sync('NAME', key=value)" in desk.fault(cell)


def test_the_magics_name_in_a_text_is_left_alone(desk: Desk) -> None:
    assert desk.ok("x = '%toolkit call add'\nx").result == "%toolkit call add"
    assert isinstance(desk.run("'%toolkit'\nx = = 1").error, SyntaxError)


def test_undo_takes_back_what_a_call_did_to_a_file(desk: Desk, tmp_path: Path) -> None:
    desk.toolkit.register(Write())
    desk.shell.user_ns["path"] = str(tmp_path / "note.txt")
    desk.ok("%toolkit call Write file_path=$path content=new")
    assert (tmp_path / "note.txt").read_text() == "new"
    assert desk.ok("%toolkit undo 1").text.startswith("removed ")
    assert not (tmp_path / "note.txt").exists()
    assert "nothing to take back" in desk.fault("%toolkit undo 1")
    desk.ok("%toolkit call add a=1")
    assert "changed no file by Write or Edit" in desk.fault("%toolkit undo 2")
    assert "no result is kept for call 9" in desk.fault("%toolkit undo 9")
    assert "expected the number of a call" in desk.fault("%toolkit undo last")
    desk.ok("%toolkit call add a=one")
    assert "call 3, of add, ended in an error, so there is nothing to take back" in desk.fault("%toolkit undo 3")


# ------------------------------------------------------------------------------------------------------------ looking


@pytest.fixture
def recorded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(hooks, "observers", [*hooks.observers, recorder.Recorder(InlineApprover())])
    return desk


def test_the_record_of_a_call_is_shown_again_by_its_number(recorded: Desk) -> None:
    first = recorded.ok("%toolkit call add a=1 b=2").text
    recorded.ok("%toolkit call echo text=hi")
    assert "3" in first
    assert recorded.ok("%toolkit log 1").text == first
    assert "the log holds no call number 9" in recorded.fault("%toolkit log 9")
    assert "expected the number of a call" in recorded.fault("%toolkit log last")
    assert "2 calls" in recorded.ok("%toolkit log").text


def test_a_record_that_is_not_kept_any_more_is_shown_without_its_result(
    recorded: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MAX_CHARACTERS", 2_000)
    recorded.ok("%toolkit call echo text=first")
    recorded.ok("%toolkit call echo text=" + "x" * 500)
    recorded.ok("%toolkit call echo text=" + "y" * 500)
    lines = recorded.ok("%toolkit log 1").text.splitlines()
    assert lines[0] == '[echo] text="first", note=null, where=null'
    assert lines[-1] == "Its result is no longer kept."


def test_the_bare_magic_and_list_show_the_tools(desk: Desk) -> None:
    for cell in ("%toolkit", "%toolkit list"):
        assert "add" in desk.ok(cell).text
        assert "Give back what came." in desk.ok(cell).text
    assert "Mode default" in desk.ok("%toolkit").text


def test_schema_shows_a_persons_view_or_a_providers_json(desk: Desk) -> None:
    assert "The first." in desk.ok("%toolkit schema add").text
    assert '"parametersJsonSchema"' in desk.ok("%toolkit schema add --format gemini").text


def test_help_lists_all_and_explains_one(desk: Desk) -> None:
    assert "%toolkit call NAME key=value" in desk.ok("%toolkit help").text
    assert "toolkit.call_sync" in desk.ok("%toolkit help call").text
    assert "%toolkit mcp restart NAME" in desk.ok("%toolkit help mcp").text
    assert desk.fault("%toolkit help nonsense") == (
        "%toolkit has no subcommand 'nonsense'; %toolkit help lists them all"
    )
    assert "always: RULE" in desk.ok("%toolkit help answers").text
    assert "answers clear" in desk.ok("%toolkit help answers").text


def test_the_log_lists_the_calls(desk: Desk) -> None:
    desk.ok("%toolkit call add a=41")
    text = desk.ok("%toolkit log").text
    assert "1 call" in text
    assert "allowed as read-only" in text


def test_everything_shown_is_plain_text_and_html(desk: Desk) -> None:
    for cell in ("%toolkit", "%toolkit schema add", "%toolkit help", "%toolkit log", "%toolkit mode", "%toolkit rules"):
        for bundle in desk.ok(cell).shown:
            assert set(bundle) == {"text/plain", "text/html"}


# -------------------------------------------------------------------------------------------------- tools and groups


def test_every_function_of_a_tool_cell_becomes_a_tool(desk: Desk) -> None:
    cell = '''%%toolkit tool --group reports
import math

def area(radius: float) -> float:
    """Area of a circle."""
    return _pi() * radius**2

def _pi(): return math.pi

if True:
    async def double(n: int) -> int:
        """Double it."""
        return n * 2

class Other:
    def method(self): ...
'''
    text = desk.ok(cell).text
    assert "area" in text
    assert "Double it." in text
    assert {tool.name for tool in desk.toolkit.group("reports").tools} == {"area", "double"}
    desk.ok("%toolkit activate reports")
    desk.ok("%toolkit call double n=21")
    assert desk.shell.user_ns["_"] == 42
    assert desk.ok("round(area(1), 2)").result == 3.14


def test_a_tool_cell_run_again_replaces_its_tools_where_they_are(desk: Desk) -> None:
    for factor in (2, 3):
        desk.ok(f"%%toolkit tool --read-only\ndef times(n: int) -> int:\n    'Multiply.'\n    return n * {factor}")
    desk.ok("%toolkit call times n=5")
    assert desk.shell.user_ns["_"] == 15
    assert [tool.name for tool in desk.toolkit.group("basic").tools] == ["add", "echo", "times"]
    assert desk.asked == []


def test_a_tool_of_a_cell_may_have_another_name(desk: Desk) -> None:
    desk.ok("%%toolkit tool --name triple\ndef f(n: int) -> int:\n    'Triple.'\n    return n * 3")
    assert desk.toolkit.get_tool_sync("triple") is not None
    assert "--name is for one function" in desk.fault("%%toolkit tool --name g\ndef f(): 'x'\ndef g(): 'y'")


def test_a_decorated_function_in_a_tool_cell_keeps_its_own_options(desk: Desk) -> None:
    desk.ok(
        "%%toolkit tool\nfrom nbtoolkit.tool import tool\n@tool(name='fours', is_read_only=True)\n"
        "def four() -> int:\n    'Give four.'\n    return 4"
    )
    assert [tool.name for tool in desk.toolkit.group("basic").tools] == ["add", "echo", "fours"]


def test_a_tool_cells_function_has_its_source(desk: Desk) -> None:
    desk.ok("%%toolkit tool\ndef f() -> int:\n    'Give one.'\n    return 1  # mark")
    desk.ok("import inspect\ns = inspect.getsource(f)")
    assert "return 1  # mark" in desk.shell.user_ns["s"]


def test_an_error_in_a_tool_cell_is_the_cells_own_at_its_own_line(desk: Desk) -> None:
    ran = desk.run("%%toolkit tool\ndef f(): 'x'\nboom")
    assert isinstance(ran.error, NameError)
    assert "line 3" in ran.stdout


def test_add_takes_what_an_expression_gives(desk: Desk) -> None:
    desk.ok("def f(n: int) -> int:\n    'F.'\n    return n\ndef g() -> int:\n    'G.'\n    return 1")
    text = desk.ok("%toolkit add [f, g] --group reports").text
    assert "2 tools" in text
    assert [tool.name for tool in desk.toolkit.group("reports").tools] == ["f", "g"]
    assert "1 tool" in desk.ok("%toolkit add f").text


def test_remove_takes_tools_out(desk: Desk) -> None:
    assert desk.ok("%toolkit remove add echo").text == "Removed add, echo."
    assert desk.toolkit.all_tools_sync() == []


def test_groups_are_made_described_and_switched(desk: Desk) -> None:
    assert "off" in desk.ok('%toolkit group reports --description "Tables for the week"').text
    assert "Group reports, on" in desk.ok("%toolkit activate reports").text
    assert desk.ok("%toolkit group reports --description Other").text.endswith("Other")
    assert desk.toolkit.is_active(desk.toolkit.group("reports"))
    desk.ok("%toolkit deactivate reports")
    assert not desk.toolkit.is_active(desk.toolkit.group("reports"))


def test_a_tool_in_a_group_that_is_off_says_how_to_switch_it_on(desk: Desk) -> None:
    desk.toolkit.add_group(ToolGroup("more", "More.", tools=[FunctionTool(add, name="plus")]))
    assert desk.fault("%toolkit call plus a=1").endswith("which is off: %toolkit activate more")


# --------------------------------------------------------------------------------------------------------- permission


def test_mode_is_shown_and_set(desk: Desk) -> None:
    assert desk.ok("%toolkit mode").text == "Mode default: read-only calls run, others ask."
    desk.ok("%toolkit mode dont-ask")
    assert desk.toolkit.mode is PermissionMode.DONT_ASK


def test_rules_are_added_shown_and_forgotten(desk: Desk) -> None:
    desk.ok("%toolkit allow echo(text=hi) add")
    desk.ok("%toolkit deny echo(text=bye, note=x)")
    assert "echo(text=bye, note=x)" in desk.ok("%toolkit rules").text
    desk.ok("%toolkit call echo text=hi")
    assert desk.asked == []
    desk.ok("%toolkit forget echo(text=hi)")
    desk.ok("%toolkit call echo text=hi")
    assert len(desk.asked) == 1


def test_why_explains_a_call_that_is_not_made(desk: Desk) -> None:
    text = desk.ok("%toolkit why echo text=hi").text
    assert "echo" in text
    assert len(desk.toolkit.log) == 0


def test_why_says_which_arguments_are_missing_without_a_class(desk: Desk) -> None:
    said = desk.fault("%toolkit why add")
    assert "ToolArgumentsError" not in said
    assert "a: " in said


def test_a_grant_ends_with_its_cell(desk: Desk) -> None:
    ran = desk.ok("%%toolkit grant echo --calls 1\nr = %toolkit call echo text=a\nr.value[0]")
    assert ran.result == "a"
    assert desk.asked == []
    desk.ok("%toolkit call echo text=a")
    assert len(desk.asked) == 1


def test_a_grants_cell_may_await_and_shows_its_last_expression(desk: Desk) -> None:
    ran = desk.ok("%%toolkit grant echo\nr = await toolkit.call('echo', text='a')\nr.value[0] * 2")
    assert "'aa'" in ran.text
    assert desk.asked == []


def test_an_error_ends_a_grant_too(desk: Desk) -> None:
    assert isinstance(desk.run("%%toolkit grant echo\n1 / 0").error, ZeroDivisionError)
    desk.ok("%toolkit call echo text=a")
    assert len(desk.asked) == 1


def test_a_rule_that_matches_nothing_is_said_where_it_is_added(desk: Desk) -> None:
    text = desk.ok("%toolkit deny echos").text
    assert "deny echos (user):" in text
    assert text in desk.ok("%toolkit rules").text


def test_rules_are_read_again_from_their_files(desk: Desk, tmp_path: Path) -> None:
    assert desk.fault("%toolkit rules reload").startswith("no files of rules are in use here")
    project = tmp_path / "nbtoolkit.toml"
    project.write_text('deny = ["echo(text=bye)"]\nallow = ["echo"]\n')
    Store(desk.toolkit.grants, tmp_path, user=tmp_path / "user.toml")
    text = desk.ok("%toolkit rules reload").text
    assert "echo(text=bye)" in text
    assert "nbtoolkit.toml asks for: allow echo. None of it holds before %toolkit rules accept." in text
    assert [str(rule) for rule in desk.toolkit.rules] == ["echo(text=bye)"]


def test_nobody_but_a_person_accepts_a_projects_rules(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "nbtoolkit.toml").write_text('allow = ["echo"]\n')
    store = Store(desk.toolkit.grants, tmp_path, user=tmp_path / "user.toml")
    store.load()
    assert desk.fault("%toolkit rules accept").startswith("only a person in front of a notebook can accept")
    assert desk.toolkit.rules == []


# ---------------------------------------------------------------------------------------------------- servers, skills


def test_a_server_of_a_rules_file_is_listed_and_started_by_its_first_use(desk: Desk, tmp_path: Path) -> None:
    entry = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps(['-S', str(PLAIN)])}\n"
    (tmp_path / "user.toml").write_text(f"[mcp_servers.mine]\n{entry}")
    (tmp_path / "nbtoolkit.toml").write_text(f"[mcp_servers.theirs]\n{entry}")
    Store(desk.toolkit.grants, tmp_path, user=tmp_path / "user.toml").load()
    text = desk.ok("%toolkit mcp list").text
    assert "from user file, not used yet" in text
    assert "not before nbtoolkit.toml is accepted" in text
    assert "isn't started; %toolkit mcp tools mine starts it" in desk.fault("%toolkit mcp log mine")
    assert "which isn't accepted as it is" in desk.fault("%toolkit call mcp__theirs__echo text=hi")
    assert desk.toolkit.mcps == []
    desk.ok("r = %toolkit call mcp__mine__echo text=hi")
    assert "hi" in desk.shell.user_ns["r"].text
    assert "connected" in desk.ok("%toolkit mcp list").text
    desk.ok("%toolkit mcp remove mine")


def test_a_server_is_attached_listed_used_and_removed(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN), token="s3cret")
    text = desk.ok("%toolkit mcp add plain {sys.executable} -S $server --env TOKEN=$token --timeout 20").text
    assert "mcp__plain__echo" in text
    assert "s3cret" not in desk.ok("%toolkit mcp list").text
    desk.ok("r = %toolkit call mcp__plain__echo text=hi")
    assert "hi" in desk.shell.user_ns["r"].text
    client = desk.toolkit.mcps[0]
    assert isinstance(client.mcp_config, StdioMCPConfig)
    assert (client.mcp_config.env, client.execution_timeout) == ({"TOKEN": "s3cret"}, 20.0)
    assert "mcp__plain__echo" in desk.ok("%toolkit mcp tools plain").text
    assert "mcp__plain__echo" in desk.ok("%toolkit mcp restart plain").text
    assert desk.ok("%toolkit mcp log plain").text
    assert desk.ok("%toolkit mcp remove plain").text == "Closed and removed the server plain."
    assert desk.toolkit.mcps == []
    assert not client.is_connected


def test_a_server_that_died_is_listed_as_down_until_a_call_starts_it_again(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN))
    desk.ok("%toolkit mcp add plain {sys.executable} -S $server")
    assert "exit code 3" in desk.ok("%toolkit call mcp__plain__die").text
    assert "down, the next call starts it again" in desk.ok("%toolkit mcp list").text
    desk.ok("%toolkit call mcp__plain__echo text=hi")
    assert "connected" in desk.ok("%toolkit mcp list").text
    desk.ok("%toolkit mcp remove plain")


def test_a_server_of_the_same_name_takes_the_place_of_the_one_before(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN))
    desk.ok("%toolkit mcp add plain {sys.executable} -S $server")
    before = desk.toolkit.mcps[0]
    text = desk.ok("%toolkit mcp add plain {sys.executable} -S $server --enable echo,sleep --disable die").text
    assert not before.is_connected
    assert "2 tools" in text
    assert [client.name for client in desk.toolkit.mcps] == ["plain"]
    desk.ok("%toolkit mcp remove plain")


def test_a_server_that_works_is_kept_where_the_one_for_its_place_does_not_start(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN))
    desk.ok("%toolkit mcp add plain {sys.executable} -S $server")
    before = desk.toolkit.mcps[0]
    assert "can't be reached" in str(desk.run("%toolkit mcp add plain {sys.executable} -S nosuch.py").error)
    assert desk.toolkit.mcps == [before]
    desk.ok("r = %toolkit call mcp__plain__echo text=hi")
    assert "hi" in desk.shell.user_ns["r"].text
    desk.ok("%toolkit mcp remove plain")


def test_a_server_that_is_closed_is_left_out_with_the_line_that_opens_it_again(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys, server=str(PLAIN))
    desk.ok("%toolkit mcp add plain {sys.executable} -S $server")
    hooks.drive(desk.toolkit.mcps[0].close())
    with pytest.warns(Warning, match="%toolkit mcp restart plain"):
        desk.run("%toolkit list")
    desk.ok("%toolkit mcp restart plain")
    assert "mcp__plain__echo" in desk.ok("%toolkit list").text
    desk.ok("%toolkit mcp remove plain")


def test_the_timeout_of_a_server_holds_for_its_start_too(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys)
    mute = "import sys; sys.stdin.read()"
    ran = desk.run(f"""%toolkit mcp add mute {{sys.executable}} -S -c "{mute}" --timeout 0.5""")
    assert "0.5 s" in str(ran.error)
    assert desk.toolkit.mcps == []


def test_a_server_that_does_not_start_is_one_line_and_its_own_last_words(desk: Desk) -> None:
    desk.shell.user_ns.update(sys=sys)
    ran = desk.run("""%toolkit mcp add bad {sys.executable} -c "import sys; sys.exit('no key')" """)
    assert type(ran.error).__name__ == "CommandError"
    lines = ran.stdout.strip().splitlines()
    assert lines[0].startswith("CommandError: The MCP server 'bad' can't be reached")
    assert lines[1:] == ["The last lines it wrote:", "no key"]
    assert desk.toolkit.mcps == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x https://localhost/mcp extra", "'extra' is too much behind a URL"),
        ("x https://localhost/mcp --env A=b", "--env is for a server that is started by a command"),
        ("x python --header A=b", "--header is for a URL; a command takes --env KEY=VALUE"),
        ("x https://localhost/mcp --header s3cret", "--header expects KEY=VALUE, as in --header Authorization=$token"),
        ("x python --stateless", "STDIO MCP must be stateful (is_stateful=True)."),
        ("x python --timeout soon", "--timeout expects seconds, more than 0, but got 'soon'"),
        ("x.y python", "MCPClient name 'x.y' contains characters not allowed by LLM providers"),
        ("x", "expected %toolkit mcp add NAME COMMAND ARGS… | NAME URL"),
    ],
)
def test_a_server_that_can_not_be_is_one_line(desk: Desk, line: str, said: str) -> None:
    assert desk.fault(f"%toolkit mcp add {line}").startswith(said)


def test_servers_of_a_configuration_are_shown_before_any_is_started(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / ".mcp.json"
    good = {"command": sys.executable, "args": ["-S", str(PLAIN)], "env": {"TOKEN": "s3cret"}}
    servers = {"good": good, "bad": {"command": "no-such-program"}, "odd": {"args": []}}
    file.write_text(json.dumps({"mcpServers": servers}))
    desk.shell.user_ns["file"] = file
    text = desk.ok("%toolkit mcp import $file").text
    assert "3 servers" in text
    assert "Nothing was started." in text
    assert "TOKEN=…" in text
    assert "s3cret" not in text
    assert desk.toolkit.mcps == []
    ran = desk.run("%toolkit mcp import $file --start")
    assert "mcp__good__echo" in ran.text
    assert str(ran.error) == "2 of 3 servers aren't started:"
    assert "\nThe MCP server 'bad' can't be reached (no-such-program): " in ran.stdout
    assert "\nThe MCP server 'odd' can't be started: its entry has neither a command nor a url\n" in f"{ran.stdout}\n"
    assert [client.name for client in desk.toolkit.mcps] == ["good"]
    assert "no server in" in desk.fault("%toolkit mcp import $file goad")
    assert "1 server\n" in desk.ok("%toolkit mcp import $file good --start").text
    desk.ok("%toolkit mcp remove good")
    assert desk.fault("%toolkit mcp import --start").startswith("say which file")


def test_add_connects_a_client_that_is_not_yet(desk: Desk) -> None:
    desk.shell.user_ns["client"] = MCPClient(
        "plain", is_stateful=True, mcp_config=StdioMCPConfig(command=sys.executable, args=["-S", str(PLAIN)])
    )
    assert "mcp__plain__echo" in desk.ok("%toolkit add client").text
    desk.ok("%toolkit mcp remove plain")


def test_skills_are_added_by_folder_and_listed(desk: Desk, tmp_path: Path) -> None:
    for name in ("plots", "tables"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\nText.\n")
    desk.shell.user_ns["folder"] = tmp_path
    assert desk.ok("%toolkit skill list").text == "No skills yet: %toolkit skill add DIR."
    assert desk.fault("%toolkit skill add $folder").endswith(
        "with --scan-subdir the folders below it are looked at too"
    )
    assert "About tables." in desk.ok("%toolkit skill add $folder --scan-subdir").text
    desk.ok("%toolkit skill add $folder --scan-subdir")
    assert "2 skills" in desk.ok("%toolkit skill list").text
    assert "there is no folder" in desk.fault("%toolkit skill add nowhere")


# ------------------------------------------------------------------------------------------------------- the extension


def test_registering_twice_leaves_one_of_each(desk: Desk) -> None:
    magics.register(desk.shell, lambda: desk.toolkit)
    assert len([m for m in desk.shell.Completer.custom_matchers if isinstance(m, Matcher)]) == 1
    assert desk.shell.input_transformers_post.count(magics.no_magic_in_expressions) == 1


def test_unregistering_takes_all_back(desk: Desk) -> None:
    magics.unregister(desk.shell)
    assert desk.shell.find_line_magic("toolkit") is None  # type: ignore[no-untyped-call]
    assert desk.shell.find_cell_magic("toolkit") is None  # type: ignore[no-untyped-call]
    assert desk.shell.Completer.custom_matchers == []
    assert magics.no_magic_in_expressions not in desk.shell.input_transformers_post


# ---------------------------------------------------------------------------------------------------------- questions


@pytest.fixture
def inline(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> InlineApprover:
    """The notebook's own approver, in a process where nobody can click."""
    approver = InlineApprover(desk.toolkit)
    desk.toolkit.approver = None
    monkeypatch.setattr(hooks, "default_approver", approver)
    monkeypatch.delenv("NBTOOLKIT_ASK", raising=False)
    return approver


def test_planned_answers_are_given_in_order_where_nobody_can_click(desk: Desk, inline: InlineApprover) -> None:
    text = desk.ok('%toolkit answers allow, deny "not today"').text
    assert text == "2 answers planned for runs without a person."
    states = [desk.ok(f"r = %toolkit call echo text={word}\nr.state").result for word in "abc"]
    assert states == [ToolResultState.SUCCESS, ToolResultState.DENIED, ToolResultState.DENIED]
    assert "not today" in desk.toolkit.log[2].words


def test_planned_answers_may_be_for_rules_one_a_line(desk: Desk, inline: InlineApprover) -> None:
    desk.ok("%%toolkit answers\n# for two calls\necho(text=a) -> allow\necho -> deny: no")
    assert desk.ok("%toolkit answers").text == (
        "Planned for runs without a person: echo(text=a) -> allow, echo -> deny: no"
    )
    states = [desk.ok(f"r = %toolkit call echo text={word}\nr.state").result for word in "aba"]
    assert states == [ToolResultState.SUCCESS, ToolResultState.DENIED, ToolResultState.SUCCESS]
    assert desk.ok("%toolkit answers clear").text == "No answers are planned."
    assert len(inline.answers) == 0


def test_an_always_planned_is_not_asked_again(desk: Desk, inline: InlineApprover) -> None:
    desk.ok("%toolkit answers always: echo")
    assert desk.ok("r = %toolkit call echo text=a\nr.state").result is ToolResultState.SUCCESS
    assert desk.ok("r = %toolkit call echo text=b\nr.state").result is ToolResultState.SUCCESS
    assert "echo" in desk.ok("%toolkit rules").text


def test_a_wrong_answer_plans_nothing(desk: Desk, inline: InlineApprover) -> None:
    assert desk.fault("%toolkit answers allow, yes").startswith("'yes' is no answer; expected allow, always")
    assert len(inline.answers) == 0


def test_nothing_waits_where_nothing_asks(desk: Desk, inline: InlineApprover) -> None:
    assert desk.ok("%toolkit pending").text == "No call waits for an answer."
    assert desk.fault("%toolkit approve") == "no call waits for an answer"
    assert desk.fault("%toolkit reject 3 --reason later") == "no call waits for an answer"


def test_without_the_extension_the_questions_say_so(desk: Desk) -> None:
    assert "%load_ext nbtoolkit" in desk.fault("%toolkit pending")


@pytest.mark.parametrize(
    ("code", "mine"),
    [
        ("%toolkit pending", True),
        ("\n  %toolkit approve 3 --always  \n", True),
        ('%toolkit reject --reason "not now"', True),
        ("%toolkit approve x y", True),
        ("%toolkit approved", False),
        ("%toolkit log", False),
        ("%toolkit pending\nprint(1)", False),
        ("x = 1\n%toolkit pending", False),
        ("r = %toolkit pending", False),
        ("%%toolkit pending", False),
        ("toolkit", False),
    ],
)
def test_only_a_cell_that_is_about_questions_alone_overtakes(inline: InlineApprover, code: str, mine: bool) -> None:
    shown = questions.overtaking(code, {})
    assert (shown is not None) is mine


def test_an_overtaking_cell_shows_its_mistake(inline: InlineApprover) -> None:
    shown = questions.overtaking("%toolkit approve 1", {})
    assert shown is not None
    assert shown["text/plain"] == "CommandError: no call waits for an answer"


def test_approve_and_reject_answer_the_calls_that_wait(
    desk: Desk, inline: InlineApprover, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = threading.Semaphore(0)

    async def pose(question: scheduling.Question, *, timeout: float | None = None) -> Any:
        waits.release()
        return await question.wait(timeout=20)

    present = scheduling.Presence(scheduling.Means.WIDGETS, "a test plays the front end")
    monkeypatch.setattr(scheduling, "presence", lambda: present)
    monkeypatch.setattr(scheduling, "pose", pose)
    with ThreadPoolExecutor(3) as pool:
        calls = []
        for word in "abc":
            calls.append(pool.submit(asyncio.run, complete(desk.toolkit.call("echo", text=word))))
            assert waits.acquire(timeout=20)
        assert desk.ok("%toolkit pending").text.count(" waits: ") == 3
        assert desk.fault("%toolkit approve").startswith("3 calls wait; say which: 1 (")
        assert desk.fault("%toolkit approve 7").startswith("no waiting call has the id '7'; there is 1 (")
        assert desk.ok('%toolkit reject 2 --reason "not now"').text.startswith("Denied: echo")
        shown = questions.overtaking("%toolkit approve 3", {})
        assert shown is not None
        assert shown["text/plain"].startswith("Allowed: echo")
        assert desk.ok("%toolkit approve --always").text.startswith("Allowed always: echo")
        responses = [call.result(timeout=20) for call in calls]
    assert [response.state for response in responses] == [
        ToolResultState.SUCCESS,
        ToolResultState.DENIED,
        ToolResultState.SUCCESS,
    ]
    assert "not now" in responses[1].text
    assert desk.ok("r = %toolkit call echo text=a\nr.state").result is ToolResultState.SUCCESS


async def complete(call: ToolCall) -> ToolResponse:
    return await call


# -------------------------------------------------------------------------------------------------------- the log


def test_the_log_is_chosen_from_by_tool_state_decision_and_number(desk: Desk) -> None:
    desk.answers = [Approval.deny("no"), Approval.allow()]
    for cell in ("%toolkit call add a=1", "%toolkit call echo text=x", "%toolkit call echo text=y"):
        desk.run(cell)
    assert desk.ok("%toolkit log --tool echo").text.startswith("2 of 3 calls")
    assert "denied: “no”" in desk.ok("%toolkit log --state denied").text
    assert desk.ok("%toolkit log --decided once").text.startswith("1 of 3 calls")
    assert desk.ok("%toolkit log --last 1").text.splitlines()[2].split()[0] == "3"
    assert desk.ok("%toolkit log --state error").text == "No call is like that."
    assert desk.fault("%toolkit log --state eror") == "no state is called 'eror'; did you mean 'error'?"
    assert desk.fault("%toolkit log --last none") == "--last expects a number of calls, 1 or more, but got 'none'"
    assert desk.fault("%toolkit log 1 --last 2") == "'1' is one call, and options choose among all of them"


def test_the_log_is_written_as_json_lines_without_secrets(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRM_API_KEY", "abcdefgh12345678")
    desk.ok("%toolkit call echo text=abcdefgh12345678")
    path = tmp_path / "calls.jsonl"
    assert desk.ok(f"%toolkit log --jsonl {path}").text.startswith("1 call written to ")
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["tool"] == "echo"
    assert "abcdefgh12345678" not in line


# --------------------------------------------------------------------------------------------------- live displays


def test_a_live_display_keeps_the_same_static_one_and_its_widgets_add_nothing_to_compare(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr(scheduling, "publish", lambda data, **_: published.append(data))
    monkeypatch.setattr(views, "_captured", lambda: False)
    for cell in ("%toolkit", "%toolkit schema add"):
        monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.NOBODY, "a test"))
        headless = desk.ok(cell).shown
        assert published == []
        monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.WIDGETS, "a test"))
        assert desk.ok(cell).shown == headless
        assert [list(each) for each in published] == [["application/vnd.jupyter.widget-view+json"]]
        published.clear()
    views.close()


def test_the_panel_is_one_object_however_often_it_is_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[dict[str, Any]] = []
    monkeypatch.setattr(scheduling, "publish", lambda data, **_: published.append(data))
    monkeypatch.setattr(views, "_captured", lambda: False)
    monkeypatch.setattr(scheduling, "presence", lambda: Presence(Means.WIDGETS, "a test"))
    desk.ok("%toolkit")
    desk.ok("%toolkit")
    assert published[0] == published[1]
    views.close()


def test_what_is_saved_of_a_large_panel_is_its_beginning_and_a_count(desk: Desk) -> None:
    for number in range(110):
        desk.toolkit.register(FunctionTool(echo, name=f"echo_{number}", description="Say it."))
    text = desk.ok("%toolkit").text
    assert "112 tools" in text
    assert "12 more" in text
    assert "more" not in desk.ok("%toolkit list").text

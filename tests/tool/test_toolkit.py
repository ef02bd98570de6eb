"""The registry: names, groups, schemas."""

from __future__ import annotations

import asyncio
import copy
import json
import warnings
from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from nbtoolkit import hooks
from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.message import ToolResultState
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.skill import Skill
from nbtoolkit.state import AgentState
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.bash import Bash
from nbtoolkit.tool.decorator import tool
from nbtoolkit.tool.function import FunctionTool
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.schemas import FORMATS
from nbtoolkit.tool.toolkit import Toolkit


def load(path: str, limit: int = 10) -> str:
    """Load a table.

    Args:
        path: Where it lies.
        limit: How many rows.
    """
    return f"{path} {limit}"


def other(x: int) -> int:
    """Do something else."""
    return x


class Server:
    """A server's client, as the toolkit sees one."""

    def __init__(self, name: str, *, connected: bool = True, stateful: bool = True, down: bool = False) -> None:
        self.name, self.is_connected, self.is_stateful, self.down = name, connected, stateful, down
        self.listed = 0

    def known_tool(self, name: str) -> ToolBase | None:
        return None

    async def list_tools(self) -> list[ToolBase]:
        self.listed += 1
        if self.down:
            raise ConnectionError("refused")
        return [FunctionTool(other, name=f"mcp__{self.name}__other")]


def names(toolkit: Toolkit, groups: list[str] | None = None) -> list[str]:
    return [schema["function"]["name"] for schema in asyncio.run(toolkit.get_tool_schemas(groups))]


# ---------------------------------------------------------------------- registering
def test_the_same_function_registered_again_replaces_itself_in_place() -> None:
    toolkit = Toolkit(tools=[load, other])

    def again() -> None:
        scope: dict[str, Any] = {"__name__": load.__module__}
        exec("def load(path: str) -> str:\n    'Load anew.'\n    return path", scope)
        toolkit.register(scope["load"])

    again()
    assert names(toolkit) == ["load", "other"]
    assert toolkit.get_tool_sync("load").description == "Load anew."  # type: ignore[union-attr]


def run_cell(toolkit: Toolkit, code: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__", "tool": partial(tool, toolkit=toolkit), "toolkit": toolkit}
    exec(compile(code, "<cell>", "exec"), scope)
    return scope


NAMED = "@tool(name={!r})\ndef f(x: int) -> int:\n    'Do it.'\n    return x\n"


def test_a_function_whose_cell_is_run_again_under_another_name_leaves_no_old_one() -> None:
    toolkit = Toolkit(tools=[other])
    run_cell(toolkit, NAMED.format("first") + NAMED.format("nothing").replace("def f", "def g"))
    toolkit.add_rule("first")
    run_cell(toolkit, NAMED.format("second"))
    assert names(toolkit) == ["other", "second", "nothing"]
    assert asyncio.run(toolkit.get_tool("first")) is None
    # Rules that were typed stay.
    assert [str(rule) for rule in toolkit.rules] == ["first"]


def test_one_run_of_a_cell_may_give_one_function_several_names() -> None:
    toolkit = Toolkit()
    loop = "for n in 'abc':\n    @tool(name=n)\n    def f(x: int) -> int:\n        'Do it.'\n        return x\n"
    for _ in range(2):
        run_cell(toolkit, loop)
        assert names(toolkit) == ["a", "b", "c"]
    toolkit.clear()
    twice = NAMED.format("a") + "tool(name='b')(f)\n"
    run_cell(toolkit, twice)
    assert names(toolkit) == ["a", "b"]


def test_grants_that_go_with_a_definition_are_named() -> None:
    toolkit = Toolkit()

    async def always(request: ApprovalRequest) -> Approval:
        rule = PermissionRule.parse("f(x=1)", PermissionBehavior.ALLOW)
        return Approval.allow(scope="kernel", rule=rule)

    toolkit.approver = always
    run_cell(toolkit, NAMED.format("f"))
    assert toolkit.call_sync("f", x=1).value == 1
    assert [str(rule) for rule in toolkit.grants] == ["f(x=1)"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_cell(toolkit, NAMED.format("f"))
    with pytest.warns(
        ToolkitWarning, match=r"f has changed since it was allowed, so this is asked about again: f\(x=1\)"
    ):
        run_cell(toolkit, NAMED.format("f").replace("return x", "return x + 1"))
    assert list(toolkit.grants) == []


def test_two_different_tools_of_one_name_are_an_error_that_names_both() -> None:
    toolkit = Toolkit(tools=[load])
    with pytest.raises(ValueError, match=r"'load'.*test_toolkit\.load.*test_toolkit\.other"):
        toolkit.register(FunctionTool(other, name="load"))
    with pytest.raises(ValueError, match="two different tools are called 'load'"):
        Toolkit(tools=[load, FunctionTool(other, name="load")])
    assert toolkit.call_sync("load", path="x").state is ToolResultState.DENIED


def test_the_decorator_registers_and_gives_the_function_back(monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit = Toolkit()
    monkeypatch.setattr(hooks, "get_toolkit", lambda: toolkit)

    @tool
    def plain(x: int) -> int:
        """Be plain."""
        return x

    @tool(group="extra", name="named", is_read_only=True)
    def option(x: int) -> int:
        """Have options."""
        return x + 1

    assert plain(3) == 3
    assert option(3) == 4
    assert names(toolkit, ["extra"]) == ["reset_tools", "plain", "named"]
    assert toolkit.get_tool_sync("named").is_read_only  # type: ignore[union-attr]


def test_the_toolkits_own_names_are_kept() -> None:
    for name in ("reset_tools", "Skill"):
        with pytest.raises(ValueError, match="belongs to the toolkit's own tool"):
            Toolkit().register(FunctionTool(load, name=name))


def test_what_is_no_tool_is_refused_by_its_repr() -> None:
    with pytest.raises(TypeError, match=r"3 is no tool"):
        asyncio.run(Toolkit().add_tool(3))  # type: ignore[arg-type]


def test_tools_and_servers_are_removed_by_name() -> None:
    toolkit = Toolkit(tools=[load, other], mcps=[Server("files")])  # type: ignore[list-item]
    asyncio.run(toolkit.remove_tool(["load", "files"]))
    assert names(toolkit) == ["other"]
    with pytest.raises(KeyError, match="'loud'"):
        toolkit.remove_tool_sync("loud")


# ---------------------------------------------------------------------- groups
def group(name: str = "more", **kwargs: Any) -> ToolGroup:
    return ToolGroup(name, "More tools.", tools=[FunctionTool(other)], **kwargs)


def test_groups_start_off_and_reset_tools_sets_the_final_state() -> None:
    toolkit = Toolkit(tools=[load], tool_groups=[group(instructions="Use with care."), ToolGroup("third", "Third.")])
    assert names(toolkit) == ["reset_tools", "load"]
    response = toolkit.call_sync("reset_tools", more=True)
    assert response.state is ToolResultState.SUCCESS
    assert "Use with care." in response.text
    assert names(toolkit) == ["reset_tools", "load", "other"]
    toolkit.call_sync("reset_tools", third=True)
    assert toolkit.state.tool_context.activated_groups == ["third"]


def test_reset_tools_refuses_unknown_groups_and_what_is_no_boolean() -> None:
    toolkit = Toolkit(tool_groups=[group()])
    wrong = toolkit.call_sync("reset_tools", plots=True)
    assert wrong.state is ToolResultState.ERROR
    assert wrong.text == "Invalid group name(s): plots. The groups are: more."
    assert "more is 'yes'" in toolkit.call_sync("reset_tools", more="yes").text
    assert toolkit.state.tool_context.activated_groups == []


def test_group_names_and_descriptions_are_checked() -> None:
    with pytest.raises(ValueError, match=r"Tool groups must not contain duplicate tool groups\."):
        Toolkit(tool_groups=[ToolGroup("a", "A."), ToolGroup("a", "A.")])
    with pytest.raises(ValueError, match="The 'basic' tool group is reserved"):
        Toolkit(tool_groups=[ToolGroup("basic", "B.")])
    with pytest.raises(ValueError, match="needs a description"):
        ToolGroup("a")


def test_a_tool_is_available_when_its_group_is_named() -> None:
    toolkit = Toolkit(tool_groups=[group()])
    available = toolkit.check_tool_available
    assert not asyncio.run(available("other"))
    assert asyncio.run(available("other", ["more"]))
    assert not asyncio.run(available("nothing", ["more"]))


# ---------------------------------------------------------------------- servers
def test_a_stateful_server_must_be_connected_first() -> None:
    with pytest.raises(ValueError, match=r"^The MCP client 'files' is stateful, but not connected\.$"):
        Toolkit(mcps=[Server("files", connected=False)])  # type: ignore[list-item]
    Toolkit(mcps=[Server("files", connected=False, stateful=False)])  # type: ignore[list-item]


def test_a_server_that_is_down_costs_its_own_tools_with_a_warning() -> None:
    toolkit = Toolkit(tools=[load], mcps=[Server("down", down=True), Server("up")])  # type: ignore[list-item]
    with pytest.warns(ToolkitWarning, match="'down' is left out: refused"):
        assert names(toolkit) == ["load", "mcp__up__other"]


def test_a_tool_of_a_server_that_is_down_is_not_said_not_to_exist() -> None:
    toolkit = Toolkit(mcps=[Server("down", down=True), Server("up")])  # type: ignore[list-item]
    toolkit.mode = "bypass"
    with pytest.warns(ToolkitWarning, match="'down' is left out: refused"):
        of_down = toolkit.call_sync("mcp__down__other")
    assert of_down.text == (
        "ToolNotFoundError: The tool named 'mcp__down__other' was not found, since its server couldn't list its tools: "
        "refused"
    )
    with pytest.warns(ToolkitWarning, match="'down' is left out: refused"):
        of_up = toolkit.call_sync("mcp__up__another")
    assert of_up.text.startswith("ToolNotFoundError: The tool named 'mcp__up__another' doesn't exist.")


def test_a_function_is_called_without_asking_any_server() -> None:
    server = Server("files")
    toolkit = Toolkit(tools=[load], mcps=[server])  # type: ignore[list-item]
    toolkit.mode = "bypass"
    assert toolkit.call_sync("load", path="x").text == "x 10"
    assert server.listed == 0


# ---------------------------------------------------------------------- schemas
def test_schemas_have_the_form_that_each_provider_wants() -> None:
    toolkit = Toolkit(tools=[load])
    for name in FORMATS:
        (schema,) = toolkit.get_tool_schemas_sync(format=name)
        text = json.dumps(schema)
        assert '"load"' in text
        assert "Where it lies." in text
    with pytest.raises(ValueError, match="'xml' is no schema format"):
        toolkit.get_tool_schemas_sync(format="xml")


def test_nobody_can_spoil_a_schema_for_the_others() -> None:
    toolkit = Toolkit(tools=[load])
    (first,) = toolkit.get_tool_schemas_sync()
    before = json.dumps(first)
    first["function"]["strict"] = True
    first["function"]["name"] = "spoiled"
    parameters = first["function"]["parameters"]
    for spoil in (
        lambda: parameters.update(a=1),
        lambda: parameters["properties"].pop("path"),
        lambda: parameters["required"].append("x"),
        lambda: parameters["properties"]["path"].__setitem__("type", "integer"),
    ):
        with pytest.raises(TypeError, match=r"copy\.deepcopy"):
            spoil()  # type: ignore[no-untyped-call]
    assert json.dumps(toolkit.get_tool_schemas_sync()[0]) == before
    mine = copy.deepcopy(parameters)
    mine["properties"]["path"]["type"] = "integer"
    assert type(mine) is dict
    assert json.dumps(toolkit.get_tool_schemas_sync()[0]) == before


def test_nobody_can_change_a_functions_own_schema() -> None:
    made = FunctionTool(load, is_read_only=True)
    for spoil in (
        lambda: made.input_schema.pop("properties"),
        made.input_schema["properties"].clear,
        lambda: made.input_schema["required"].append("c"),
    ):
        with pytest.raises(TypeError, match=r"change a copy\.deepcopy of it instead"):
            spoil()
    own = copy.deepcopy(made.input_schema)
    own["properties"]["limit"]["maximum"] = 3
    assert "maximum" not in made.input_schema["properties"]["limit"]


def test_a_tool_that_waits_for_a_class_costs_no_other_its_listing() -> None:
    class Waiting(BaseModel):
        when: LaterClass  # type: ignore[name-defined]  # noqa: F821

    def plan(**fields: Any) -> str:
        """Plan."""
        return "planned"

    toolkit = Toolkit(tools=[FunctionTool(plan, input_schema=Waiting), other])
    with pytest.warns(ToolkitWarning, match="the tool 'plan' is left out: its schema can't be made"):
        assert [schema["function"]["name"] for schema in toolkit.get_tool_schemas_sync()] == ["other"]
    # A later cell defines it.
    Waiting.model_rebuild(_types_namespace={"LaterClass": int})
    assert [schema["function"]["name"] for schema in toolkit.get_tool_schemas_sync()] == ["plan", "other"]


def test_a_function_that_changes_gets_its_new_schema() -> None:
    toolkit = Toolkit(tools=[load])
    assert len(toolkit.get_tool_schemas_sync()[0]["function"]["parameters"]["properties"]) == 2
    scope: dict[str, Any] = {"__name__": load.__module__}
    exec("def load(path: str) -> str:\n    'Load.'\n    return path", scope)
    toolkit.register(scope["load"])
    assert len(toolkit.get_tool_schemas_sync()[0]["function"]["parameters"]["properties"]) == 1


# ---------------------------------------------------------------------- rules by the toolkit
def test_rules_are_added_by_text_listed_and_removed() -> None:
    toolkit = Toolkit(tools=[load])
    toolkit.add_rule("load(path=a)")
    toolkit.add_rule("load(path=b)", "deny")
    assert [str(rule) for rule in toolkit.rules] == ["load(path=b)", "load(path=a)"]
    assert toolkit.call_sync("load", path="a").text == "a 10"
    toolkit.remove_rule("load(path=a)")
    assert toolkit.call_sync("load", path="a").state is ToolResultState.DENIED
    with pytest.raises(KeyError, match="no rule reads"):
        toolkit.remove_rule("load(path=c)")


def test_a_wrong_mode_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match=r"'yolo' is no mode; expected one of default, accept_edits"):
        Toolkit().mode = "yolo"


def test_explain_says_which_step_decides() -> None:
    toolkit = Toolkit(tools=[load])
    toolkit.add_rule("load(path=a)")
    assert "load(path=a)" in str(toolkit.explain_sync("load", {"path": "a"}))


def test_nothing_warns_when_a_documented_function_is_registered() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Toolkit(tools=[load])


# ---------------------------------------------------------------------- the same thing twice
def test_the_same_thing_given_twice_is_one_tool() -> None:
    made = FunctionTool(load)
    for tools in ([load, load], [made, made], [made, load]):
        toolkit = Toolkit(tools=tools)  # type: ignore[arg-type]
        assert names(toolkit) == ["load"]
        toolkit.remove_tool_sync("load")
        assert names(toolkit) == []


def test_what_replaces_itself_in_another_group_stays_where_it_was() -> None:
    toolkit = Toolkit(tools=[load], tool_groups=[ToolGroup("more", "More.", tools=[FunctionTool(load)])])
    assert names(toolkit) == ["reset_tools", "load"]
    assert toolkit.group("more").tools == []
    toolkit.register(load, "third")
    assert [group.name for group in toolkit.tool_groups] == ["basic", "more"]


def test_the_toolkits_own_names_are_kept_from_constructors_and_groups_too() -> None:
    for name in ("reset_tools", "Skill"):
        mine = FunctionTool(load, name=name)
        with pytest.raises(ValueError, match="belongs to the toolkit's own tool"):
            Toolkit(tools=[mine])
        with pytest.raises(ValueError, match="belongs to the toolkit's own tool"):
            Toolkit(tool_groups=[ToolGroup("more", "More.", tools=[mine])])


# ---------------------------------------------------------------------- classes of tools
def test_a_class_of_tools_that_needs_no_arguments_stands_for_one_of_them() -> None:
    toolkit = Toolkit(tools=[Bash])
    assert names(toolkit) == ["Bash"]
    assert isinstance(toolkit.get_tool_sync("Bash"), Bash)


def test_a_class_of_tools_that_needs_arguments_is_refused_in_one_line() -> None:
    class Needs(Bash):
        def __init__(self, database: str) -> None:
            super().__init__()

    with pytest.raises(TypeError, match=r"^Needs is a class of tools and needs arguments \(.*'database'.*\); give .*$"):
        Toolkit(tools=[Needs])


# ---------------------------------------------------------------------- all or nothing
def test_a_group_that_cannot_come_in_whole_does_not_come_in() -> None:
    toolkit = Toolkit(tools=[load])
    bad = ToolGroup("more", "More.", tools=[FunctionTool(other), FunctionTool(other, name="load")])
    with pytest.raises(ValueError, match="two different tools are called 'load'"):
        toolkit.add_group(bad)
    offline = ToolGroup("more", "More.", tools=[FunctionTool(other)], mcps=[Server("s", connected=False)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="not connected"):
        toolkit.add_group(offline)
    assert [group.name for group in toolkit.tool_groups] == ["basic"]
    assert names(toolkit) == ["load"]
    assert toolkit.get_tool_sync("other") is None
    assert len(bad.tools) == 2
    toolkit.register(other)
    assert names(toolkit) == ["load", "other"]


def test_a_group_given_to_two_toolkits_is_each_ones_own() -> None:
    given = ToolGroup("more", "More.", tools=[FunctionTool(load), FunctionTool(other)])
    first, second = Toolkit(tool_groups=[given]), Toolkit(tool_groups=[given])
    first.remove_tool_sync("load")
    first.group("more").skills_or_loaders.append(Skill("plots", "Plots.", "d", ""))
    assert names(first, ["more"]) == ["reset_tools", "Skill", "other"]
    assert names(second, ["more"]) == ["reset_tools", "load", "other"]
    assert [tool.name for tool in given.tools] == ["load", "other"]
    assert second.group("more").skills_or_loaders == given.skills_or_loaders == []


def test_several_tools_come_from_any_iterable() -> None:
    several: Any
    for several in ((each for each in [load, other]), {"a": load, "b": other}.values(), (load, other)):
        toolkit = Toolkit()
        toolkit.add_tool_sync(several)
        assert names(toolkit) == ["load", "other"]


def test_adding_several_adds_all_or_none() -> None:
    toolkit = Toolkit(tools=[load])
    with pytest.raises(TypeError, match="3 is no tool"):
        toolkit.add_tool_sync([other, 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="two different tools"):
        toolkit.add_tool_sync([Server("up"), other, FunctionTool(other, name="load")], "new")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="'load' is no tool"):
        toolkit.add_tool_sync("load")  # type: ignore[arg-type]
    assert names(toolkit) == ["load"]
    assert toolkit.mcps == []
    assert len(toolkit.tool_groups) == 1


def test_a_server_makes_its_group_as_a_function_does() -> None:
    toolkit = Toolkit()
    toolkit.add_tool_sync(Server("up"), "new")  # type: ignore[arg-type]
    assert [client.name for client in toolkit.group("new").mcps] == ["up"]
    assert names(toolkit, ["new"]) == ["reset_tools", "mcp__up__other"]


def test_removing_several_removes_all_or_none() -> None:
    toolkit = Toolkit(tools=[load, other], mcps=[Server("up")])  # type: ignore[list-item]
    with pytest.raises(KeyError, match="'zzz'"):
        toolkit.remove_tool_sync(["load", "up", "zzz"])
    assert names(toolkit) == ["load", "other", "mcp__up__other"]
    toolkit.remove_tool_sync(["load", "up", "load"])
    assert names(toolkit) == ["other"]


def test_a_function_under_a_servers_name_is_refused_whichever_comes_first() -> None:
    taken = FunctionTool(load, name="mcp__up__other")
    toolkit = Toolkit(mcps=[Server("up")])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"could be called 'mcp__up__other'.*load.*MCP server up"):
        toolkit.register(taken)
    toolkit = Toolkit(tools=[taken])
    with pytest.raises(ValueError, match="could be called 'mcp__up__other'"):
        toolkit.add_tool_sync(Server("up"))  # type: ignore[arg-type]
    assert names(toolkit) == ["mcp__up__other"]
    toolkit.add_tool_sync(Server("u"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("first", "second"), [("a", "a__b"), ("a__b", "a")])
def test_servers_whose_tools_could_have_one_name_are_refused(first: str, second: str) -> None:
    toolkit = Toolkit(mcps=[Server(first)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="the MCP servers 'a' and 'a__b' could give two tools one name"):
        toolkit.add_tool_sync(Server(second))  # type: ignore[arg-type]
    assert [client.name for client in toolkit.mcps] == [first]
    toolkit.add_tool_sync([Server("a_b"), Server("ab__c")])  # type: ignore[list-item]


def test_a_servers_tool_that_was_registered_by_itself_is_listed_once() -> None:
    one = FunctionTool(other, name="mcp__up__other")
    one.mcp_name = "up"
    for first, second in ((one, Server("up")), (Server("up"), one)):
        toolkit = Toolkit()
        toolkit.add_tool_sync(first)  # type: ignore[arg-type]
        toolkit.add_tool_sync(second)  # type: ignore[arg-type]
        assert names(toolkit) == ["mcp__up__other"]
        assert toolkit.get_tool_sync("mcp__up__other") is one


def test_a_group_that_changes_its_description_changes_reset_tools() -> None:
    toolkit = Toolkit(tool_groups=[ToolGroup("more", "Before.")])
    names(toolkit)
    toolkit.group("more").description = "After."
    (schema,) = toolkit.get_tool_schemas_sync()
    assert schema["function"]["parameters"]["properties"]["more"]["description"] == "After."


def test_what_is_no_state_and_no_approver_is_refused_where_it_is_set() -> None:
    toolkit = Toolkit()
    with pytest.raises(TypeError, match=r"toolkit.state must be an AgentState, .*, but is 5"):
        toolkit.state = 5  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"toolkit.approver must be None or an approver, .*, but is 'yes'"):
        toolkit.approver = "yes"  # type: ignore[assignment]
    toolkit.state = AgentState()
    toolkit.approver = None

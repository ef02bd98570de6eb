"""The registry: names, groups, schemas."""

from __future__ import annotations

import asyncio
import copy
import json
import warnings
from typing import Any

import pytest

from nbtoolkit import hooks
from nbtoolkit.message import ToolResultState
from nbtoolkit.tool.base import ToolBase
from nbtoolkit.tool.function import FunctionTool, tool
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
    with pytest.warns(RuntimeWarning, match="'down' is left out: refused"):
        assert names(toolkit) == ["load", "mcp__up__other"]


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

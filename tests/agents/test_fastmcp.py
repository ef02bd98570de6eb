"""The toolkit's tools in a FastMCP server, called by FastMCP's own client, and its tools in ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import Tool

from nbtoolkit.agents.fastmcp import add_to
from nbtoolkit.permission import Approval
from tests.agents.support import a_toolkit


def test_a_clients_calls_run_through_the_pipeline() -> None:
    toolkit, person = a_toolkit(Approval.allow(), Approval.deny("keep it"))

    async def run() -> None:
        server: FastMCP[Any] = FastMCP("analysis")
        await add_to(server, toolkit)
        async with Client(server) as client:
            listed = {tool.name: tool for tool in await client.list_tools()}
            assert listed["add"].annotations is not None
            assert listed["add"].annotations.read_only_hint is True
            assert (await client.call_tool("add", {"a": 1})).content[0].text == "2"
            assert (await client.call_tool("delete", {"path": "x"})).content[0].text == "deleted x"
            with pytest.raises(ToolError, match="keep it"):
                await client.call_tool("delete", {"path": "y"})
            with pytest.raises(ToolError, match="ValueError: broken"):
                await client.call_tool("fail", {})
            plotted = await client.call_tool("plot", {})
            assert [part.type for part in plotted.content] == ["text", "image"]

    asyncio.run(run())
    assert person.asked == [("delete", {"path": "x"}), ("delete", {"path": "y"})]
    assert {entry.to_dict()["asked_by"] for entry in toolkit.log} == {"fastmcp"}


def test_a_tool_of_fastmcp_is_one_of_ours_and_is_asked_about() -> None:
    def shout(text: str) -> dict[str, str]:
        """Shout."""
        return {"loud": text.upper()}

    toolkit, person = a_toolkit(Approval.allow())
    toolkit.add_tool_sync(Tool.from_function(shout))
    response = toolkit.call_sync("shout", text="a")
    assert response.value == {"loud": "A"}
    assert person.asked == [("shout", {"text": "a"})]


def test_what_is_no_tool_of_a_library_is_said_so() -> None:
    toolkit, _ = a_toolkit()
    server: Any = FastMCP("x")
    with pytest.raises(TypeError, match=r"fastmcp\.server.* is no tool that can be added"):
        toolkit.add_tool_sync(server)

"""A served notebook in JupyterLab: the lines to copy, a client's question below a cell that ended, and what is saved."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.foreign import PATIENCE, ForeignClient, text

if TYPE_CHECKING:
    from tests.browser.conftest import OpenNotebook

SETUP = """
%load_ext nbtoolkit
@tool
def rename_island(old: str, new: str) -> int:
    '''Rename an island in the table, and say in how many rows.'''
    return 168
"""
ACCESS = "import json; from nbtoolkit.notebook import serving; print(json.dumps(serving.access()))"


def test_a_clients_question_is_answered_below_the_serving_cell_and_no_token_is_saved(
    open_notebook: OpenNotebook,
) -> None:
    page = open_notebook([SETUP, "%toolkit serve", ACCESS])
    for index in range(3):
        page.run_cell(index)
        page.wait_done(index)
    access = json.loads(page.text(2).strip())
    serving = page.output(1)
    expect(serving.get_by_text("claude mcp add --transport http")).to_be_visible()
    page.screenshot("serve-light", serving)
    page.theme("dark")
    page.screenshot("serve-dark", serving)
    page.theme("light")

    client = ForeignClient(access)
    expect(serving.get_by_text("claude mcp add")).to_have_count(0)
    call = client.call("rename_island", old="Biscoe", new="Biscoe Island")
    allow = serving.get_by_role("button", name=re.compile(r"^Allow once\s")).locator("visible=true")
    expect(allow).to_have_count(1)
    page.screenshot("serve-asks", serving)
    allow.click()
    assert text(call.result(PATIENCE)) == "168"
    expect(allow).to_have_count(0)
    client.close()

    page.run_cell(1)
    serving.get_by_role("button", name=re.compile(r"^Done\s")).click()
    expect(serving.get_by_text("claude mcp add")).to_have_count(0)
    page.clear_output(2)
    page.save()
    saved = (page.server.root / page.path).read_text("utf-8")
    assert access["headers"]["Authorization"].removeprefix("Bearer ") not in saved
    assert access["url"] not in saved
    assert "Serving 1 tool to MCP clients on this machine" in saved

"""What MCP servers ask, in a page: a form that is filled and sent, a link, and nothing of a secret left."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.lab import SHOTS

if TYPE_CHECKING:
    from tests.browser.conftest import OpenNotebook

PLAIN = Path(__file__).parents[1] / "mcp" / "servers" / "plain.py"
SETUP = f"""
%load_ext nbtoolkit
import json
from nbtoolkit.mcp import MCPClient, StdioMCPConfig
client = MCPClient(
    name="crm", is_stateful=True, mcp_config=StdioMCPConfig(command={sys.executable!r}, args=["-S", {str(PLAIN)!r}])
)
await client.connect()
ask = await client.get_tool("ask")
FORM = {{
    "type": "object",
    "properties": {{
        "name": {{"type": "string", "title": "Your name", "default": "Ada"}},
        "plan": {{"type": "string", "enum": ["basic", "pro"], "default": "pro", "description": "What is billed"}},
        "seats": {{"type": "integer", "minimum": 1, "maximum": 50}},
        "api_key": {{"type": "string", "minLength": 8, "description": "Of your account"}},
    }},
    "required": ["name", "seats"],
}}
"""
ASK = """
heard = await ask(message="Which account should the contract be booked on?", schema=FORM)
print({name: len(str(value)) for name, value in json.loads(heard.content[0].text)["content"].items()})
"""
LINK = """
link = {"mode": "url", "message": "Sign the contract", "url": "https://example.org/sign?id=1", "elicitationId": "e1"}
print((await ask(params=link)).content[0].text)
"""


def test_a_servers_form_is_sent_and_its_link_opened(open_notebook: OpenNotebook) -> None:
    page = open_notebook([SETUP, ASK, LINK])
    page.run_cell(0)
    page.wait_done(0)
    page.run_cell(1)
    card = page.output(1)
    send = card.get_by_role("button", name=re.compile("^Send\\s")).locator("visible=true")
    expect(send).to_be_visible()
    card.screenshot(path=SHOTS / "server-form.png")
    key = card.get_by_label("api_key")
    expect(key).to_have_attribute("type", "password")
    key.fill("hunter2-hunter2")
    card.get_by_label("seats").fill("99")
    send.click()
    expect(card.get_by_role("alert")).to_be_visible()
    card.screenshot(path=SHOTS / "server-form-fault.png")
    card.get_by_label("seats").fill("7")
    send.click()
    page.wait_done(1)
    assert "{'name': 3, 'plan': 3, 'seats': 1, 'api_key': 15}" in page.text(1)
    page.run_cell(2)
    asked = page.output(2)
    link = asked.get_by_role("link", name="Open the link")
    expect(link).to_have_attribute("href", "https://example.org/sign?id=1")
    expect(link).to_have_attribute("target", "_blank")
    asked.screenshot(path=SHOTS / "server-link.png")
    asked.get_by_role("button", name=re.compile("^I opened it\\s")).locator("visible=true").click()
    page.wait_done(2)
    assert "accept" in page.text(2)
    page.save()
    assert "hunter2" not in (page.server.root / page.path).read_text()

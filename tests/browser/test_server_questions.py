"""MCP in a page: the documents' own blocks, and what servers ask: a form that is sent, a link, nothing of a secret left."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from playwright.sync_api import expect

from tests.browser.lab import SHOTS
from tests.mcp.test_http import build
from tests.mcp.test_oauth import guarding
from tests.mcp.web import serving

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.browser.conftest import OpenNotebook
    from tests.browser.lab import NotebookPage

TESTS = Path(__file__).parents[1]
# The programs that the documents start, in the kernel's folder.
SETUP = f"""
%load_ext nbtoolkit
import json, os, pathlib
for name in ("mcp-server-filesystem", "npx"):
    program = pathlib.Path("bin", name).absolute()
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\\nexec {sys.executable} -S {TESTS / "mcp" / "servers" / "plain.py"}\\n")
    program.chmod(0o755)
os.environ["PATH"] = f"{{program.parent}}:{{os.environ['PATH']}}"
os.environ["AMAP_API_KEY"] = "k3y"
"""
ASK = """
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "default": "Ada"},
        "plan": {"type": "string", "enum": ["basic", "pro"], "default": "pro", "description": "What is billed"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 50},
        "api_key": {"type": "string", "minLength": 8, "description": "Of your account"},
    },
    "required": ["name", "seats"],
}
ask = await files.get_tool("ask")
heard = await ask(message="Which account should the contract be booked on?", schema=FORM)
print({name: len(str(value)) for name, value in json.loads(heard.content[0].text)["content"].items()})
"""
LINK = """
link = {"mode": "url", "message": "Sign the contract", "url": "https://example.org/sign?id=1", "elicitationId": "e1"}
print((await ask(params=link)).content[0].text)
"""


def block(name: str, url: str = "", then: str = "") -> str:
    """A code block of the documents, as it stands there but for the import and where the server is."""
    code = (TESTS / "seeds" / f"{name}.txt").read_text("utf-8").replace("agentscope", "nbtoolkit")
    return re.sub(r"https?://[^/\"]+(?=/mcp|/sse)", url, code) + then


def button(page: NotebookPage, cell: int, name: str) -> Locator:
    return page.output(cell).get_by_role("button", name=re.compile(rf"^{name}\s")).locator("visible=true")


def used(then: str) -> str:
    """What is done with a block's toolkit where nobody is to be asked."""
    return f'\ntoolkit.mode = "bypass"\n{then}'


SIGN_IN = """
os.environ["XDG_DATA_HOME"] = str(pathlib.Path("data").absolute())
%toolkit mcp add guarded {url}/mcp
"""


def sign_in(page: NotebookPage) -> None:
    """Sign in to a server by the link of its card, and paste the address that the browser ends at."""
    with guarding() as web:
        cell = page.add_cell(SIGN_IN.replace("{url}", web.url), below=10)
        page.run_cell(cell)
        card = page.output(cell)
        link = card.get_by_role("link", name="Open the link")
        expect(link).to_be_visible()
        # Another machine's browser: nobody listens where it ends.
        ended = httpx2.get(str(link.get_attribute("href")), follow_redirects=False).headers["location"]
        assert ended.startswith("http://127.0.0.1:")
        card.screenshot(path=SHOTS / "server-sign-in.png")
        card.get_by_label(re.compile("address", re.IGNORECASE)).fill(ended)
        button(page, cell, "Continue").click()
        page.wait_done(cell)
        assert "mcp__guarded__secret" in page.text(cell)
        [tokens] = (page.server.root / page.path).parent.glob("data/nbtoolkit/oauth/*.json")
        assert tokens.stat().st_mode & 0o777 == 0o600


def test_a_documents_servers_are_used_and_what_one_asks_is_answered(open_notebook: OpenNotebook) -> None:
    with serving(build().streamable_http_app()) as web, serving(build().sse_app()) as sse:
        page = open_notebook(
            [
                SETUP,
                block(
                    "mcp_stdio",
                    then='\nfiles = client\nprint((await toolkit.call("mcp__filesystem__echo", text="1")).text)',
                ),
                block("mcp_http_stateful", web.url, '\ntoolkit.call_sync("mcp__weather__echo", text="sunny")'),
                block("mcp_progress", web.url, '\nawait toolkit.call("mcp__reports__count")'),
                ASK,
                LINK,
                block("stateful_stdio", then=used('toolkit.call_sync("mcp__filesystem__echo", text="by run")')),
                block("mcp_http_stateless", web.url),
                block("mcp_runtime_headers", then=used('await toolkit.call("mcp__search__echo", text="anew")')),
                block("mcp_enable_tools", web.url, "\nprint([tool.name for tool in await client.list_tools()])"),
                block("stateless_http", sse.url, used('toolkit.call_sync("mcp__amap__echo", text="by events")')),
            ]
        )
        for cell, clicks in enumerate(([], ["Allow once"], ["Allow once"], ["Allow once"])):
            page.run_cell(cell)
            for name in clicks:
                button(page, cell, name).click()
            page.wait_done(cell)
        for cell, said in ((1, "1"), (2, "sunny"), (3, "counted")):
            assert said in page.text(cell)
        for cell, said in ((6, "by run"), (7, ""), (8, "anew"), (9, "no tool 'web_search'"), (10, "by events")):
            page.run_cell(cell)
            page.wait_done(cell)
            assert said in page.text(cell)
        assert set(web.headers("POST", "authorization")) >= {"Bearer xxx", "Bearer new-token"}
        errors = [each for cell in range(11) for each in page.outputs(cell) if each["output_type"] == "error"]
        assert errors == []
    page.run_cell(4)
    card, send = page.output(4), button(page, 4, "Send")
    expect(send).to_be_visible()
    card.screenshot(path=SHOTS / "server-form.png")
    key = card.get_by_label("api_key")
    expect(key).to_have_attribute("type", "password")
    key.fill("hunter2-hunter2")
    card.get_by_label("seats").fill("99")
    send.click()
    expect(card.locator(".nbtk-fault[role=alert]")).to_be_visible()
    card.get_by_label("seats").fill("7")
    send.click()
    page.wait_done(4)
    assert "{'name': 3, 'plan': 3, 'seats': 1, 'api_key': 15}" in page.text(4)
    page.run_cell(5)
    link = page.output(5).get_by_role("link", name="Open the link")
    expect(link).to_have_attribute("href", "https://example.org/sign?id=1")
    expect(link).to_have_attribute("target", "_blank")
    page.output(5).screenshot(path=SHOTS / "server-link.png")
    button(page, 5, "I opened it").click()
    page.wait_done(5)
    assert "accept" in page.text(5)
    sign_in(page)
    page.save()
    assert "hunter2" not in (page.server.root / page.path).read_text()

"""A notebook that serves what the official conformance suite's server scenarios call, in a real kernel.

``python tests/agents/conformance_server.py COMMAND … URL …`` starts it, runs the command with the address in the place of
``URL``, and ends with the command's exit code: ``make conformance`` gives it the suite, and then MCP's inspector. The suite knows no token, so a proxy adds it;
everything else of a request goes through as it came.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from jupyter_client.manager import start_new_kernel

NOTEBOOK = '''
import asyncio, base64, json
from nbtoolkit.message import Base64Source, DataBlock, TextBlock
from nbtoolkit.tool import FunctionTool, ToolChunk

PNG = base64.b64encode(base64.b16decode(
    "89504E470D0A1A0A0000000D49484452000000010000000108060000001F15C4890000000D49444154789C63F8CFC0F01F00050001FF"
    "56C72F0D0000000049454E44AE426082")).decode()
WAV = base64.b64encode(b"RIFF$\\x00\\x00\\x00WAVEfmt \\x10\\x00\\x00\\x00\\x01\\x00\\x01\\x00@\\x1f\\x00\\x00"
                       b"@\\x1f\\x00\\x00\\x01\\x00\\x08\\x00data\\x00\\x00\\x00\\x00").decode()

def block(data, media_type, name=None):
    return DataBlock(source=Base64Source(data=data, media_type=media_type), name=name)

@tool(is_read_only=True)
def test_simple_text():
    """Give a text."""
    return "This is a simple text response for testing."

@tool(is_read_only=True)
def test_image_content():
    """Give an image."""
    return [block(PNG, "image/png")]

@tool(is_read_only=True)
def test_audio_content():
    """Give a sound."""
    return [block(WAV, "audio/wav")]

@tool(is_read_only=True)
def test_embedded_resource():
    """Give a file."""
    text = base64.b64encode(b"This is an embedded resource content.").decode()
    return [block(text, "text/plain", "test://embedded-resource")]

@tool(is_read_only=True)
def test_multiple_content_types():
    """Give one of each."""
    data = base64.b64encode(b'{"test":"data","value":123}').decode()
    return [TextBlock(text="Multiple content types test:"), block(PNG, "image/png"),
            block(data, "application/json", "test://mixed-content-resource")]

@tool(is_read_only=True)
def test_error_handling():
    """Fail."""
    raise RuntimeError("This tool intentionally returns an error for testing")

@tool(is_read_only=True)
async def test_tool_with_progress():
    """Say how far it is."""
    for number in (0, 50, 100):
        yield ToolChunk(metadata={"mcp_progress": {"progress": number, "total": 100, "message": None}}, is_last=False)
        await asyncio.sleep(0.05)
    yield ToolChunk(content=[TextBlock(text="done")])

SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object",
                          "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
toolkit.register(FunctionTool(lambda **given: "fits", name="json_schema_2020_12_tool", description="Take it.",
                              input_schema=SCHEMA, is_read_only=True))
'''
SERVE = """
%toolkit serve
from nbtoolkit.notebook import serving
print(json.dumps(serving.access()))
"""


def run_cell(client: Any, code: str) -> str:
    """Run a cell and give what it printed."""
    printed: list[str] = []

    def hook(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    reply = client.execute_interactive(code, output_hook=hook, timeout=60)
    if reply["content"]["status"] != "ok":
        raise RuntimeError("\n".join(reply["content"]["traceback"]))
    return "".join(printed)


async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on bytes until there are none."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def proxy(port: int, token: str) -> asyncio.Server:
    """A way to the server that adds the token; one request for each connection, so that there is one head to change."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            there, back = await asyncio.open_connection("127.0.0.1", port)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(b"connection:")]
        back.write(b"\r\n".join([*lines, b"Authorization: Bearer " + token.encode(), b"Connection: close", b"", b""]))
        await asyncio.gather(relay(reader, back), relay(there, writer))

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def main(command: list[str]) -> int:
    """Start the notebook, run the command against it, and end both."""
    manager, client = await asyncio.to_thread(start_new_kernel)
    try:
        await asyncio.to_thread(run_cell, client, "%load_ext nbtoolkit")
        await asyncio.to_thread(run_cell, client, NOTEBOOK)
        access = json.loads((await asyncio.to_thread(run_cell, client, SERVE)).strip().splitlines()[-1])
        port = int(access["url"].split(":")[2].partition("/")[0])
        server = await proxy(port, access["headers"]["Authorization"].removeprefix("Bearer "))
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        process = await asyncio.create_subprocess_exec(*(address if word == "URL" else word for word in command))
        return await process.wait()
    finally:
        client.stop_channels()
        await asyncio.to_thread(manager.shutdown_kernel, now=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1:])))

"""Agents in a real kernel: a model's calls ask under their cell, a click answers, the agent goes on.

In the tests' own environment, which has the agent libraries; what differs between kernels is tested beside this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.endpoint import LoopbackModel, Script
from tests.environments import newest
from tests.kernel.frontend import Cell, FrontEnd, KernelProcess
from tests.kernel.test_inline_approval import press

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = (
    "@tool\ndef delete(path: str) -> str:\n    '''Delete.'''\n    return f'deleted {path}'\n"
    "@tool(is_read_only=True)\ndef add(a: int, b: int = 1) -> int:\n    '''Add.'''\n    return a + b"
)
CALLS: Script = ["Let me see.", ("add", {"a": 1}), ("delete", {"path": "x"})]
DONE: Script = ["It is **2**, and `x` is gone <b>for good</b>."]

PYDANTIC_AI = """
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from nbtoolkit.agents.pydantic_ai import ToolkitToolset

def reply(messages, info):
    if len(messages) > 1:
        return ModelResponse(parts=[TextPart("done: " + str(messages[-1].parts[0].content))])
    return ModelResponse(parts=[ToolCallPart("delete", {"path": "x"})])

agent = Agent(FunctionModel(reply), toolsets=[ToolkitToolset()])
"""

LANGCHAIN = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from nbtoolkit.agents.langchain import tools

def model(state):
    return {"messages": [AIMessage("", tool_calls=[{"name": "delete", "args": {"path": "x"}, "id": "1"}])]}

graph = StateGraph(MessagesState)
graph.add_node("model", model)
graph.add_node("tools", ToolNode(await tools()))
graph.add_edge(START, "model")
graph.add_edge("model", "tools")
graph = graph.compile()
"""

AGENTSCOPE = """
from agentscope.message import ToolCallBlock
from agentscope.state import AgentState
from agentscope.tool import Toolkit as Theirs
from nbtoolkit.agents.agentscope import tools

theirs = Theirs(tools=await tools())

async def call():
    block = ToolCallBlock(id="1", name="delete", input='{"path": "x"}')
    return [piece async for piece in theirs.call_tool(block, AgentState())][-1].content[0].text
"""

SMOLAGENTS = """
from smolagents import ChatMessage, CodeAgent, MessageRole, Model
from nbtoolkit.agents.smolagents import tools

class Scripted(Model):
    def generate(self, messages, **options):
        code = "Thought: go.\\n<code>\\nfinal_answer(delete(path='x'))\\n</code>"
        return ChatMessage(role=MessageRole.ASSISTANT, content=code)

agent = CodeAgent(tools=tools(), model=Scripted("m"), max_steps=1, verbosity_level=0)
"""

FASTMCP = """
from fastmcp import Client, FastMCP
from nbtoolkit.agents.fastmcp import add_to

server = FastMCP("analysis")
await add_to(server)

async def call():
    async with Client(server) as client:
        return (await client.call_tool("delete", {"path": "x"})).content[0].text
"""

OPENAI_AGENTS = """
from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner
from openai import AsyncOpenAI
from nbtoolkit.agents.openai_agents import tools

client = AsyncOpenAI(base_url={url!r}, api_key="k")
agent = Agent(name="analyst", model=OpenAIChatCompletionsModel("m", client), tools=await tools())
quiet = RunConfig(tracing_disabled=True)
"""


def read(cell: Cell, kind: str = "text/plain") -> str:
    """What a page shows of a cell in the end: what took another display's place stands there."""
    shown: dict[str, str] = {}
    for number, content in enumerate(cell.of("display_data", "update_display_data", "stream")):
        if content.get("name") == "stderr":
            # A message of the page to a widget that is gone by then, which the kernel tells of.
            continue
        key = (content.get("transient") or {}).get("display_id") or str(number)
        shown[key] = content["text"] if "text" in content else content["data"].get(kind, "") + "\n"
    return "".join(shown.values())


@pytest.fixture(scope="module")
def own_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    kernel = KernelProcess(newest(), tmp_path_factory.mktemp("agents"))
    prepare(kernel)
    yield kernel
    kernel.stop()


def prepare(kernel: KernelProcess) -> None:
    page = FrontEnd(kernel).connect()
    page.run("scheduling.uninstall()").ok()
    page.run("%load_ext nbtoolkit").ok()
    page.run(TOOLS).ok()
    page.close()


@pytest.fixture
def page(own_kernel: KernelProcess) -> Iterator[FrontEnd]:
    """A page on a kernel that is idle afterwards; else the kernel is started anew, so that only this test fails."""
    page = FrontEnd(own_kernel).connect()
    yield page
    try:
        page.run("assert not scheduling.pending()").wait(5).ok()
    except AssertionError:
        own_kernel.restart()
        prepare(own_kernel)
        raise
    finally:
        page.close()


@pytest.mark.parametrize(
    ("before", "code"),
    [
        (PYDANTIC_AI, "print((await agent.run('go')).output)"),
        (PYDANTIC_AI, "print(scheduling.run_in_worker(lambda: agent.run_sync('go')).output)"),
        (LANGCHAIN, "print('done:', (await graph.ainvoke({'messages': []}))['messages'][-1].content)"),
        (AGENTSCOPE, "print('done:', await call())"),
        (SMOLAGENTS, "print('done:', agent.run('go'))"),
        (FASTMCP, "print('done:', await call())"),
    ],
    ids=["pydantic-ai", "pydantic-ai in a worker", "langgraph", "agentscope", "smolagents", "fastmcp"],
)
def test_a_click_lets_a_librarys_agent_go_on(page: FrontEnd, before: str, code: str) -> None:
    page.run(before).ok()
    cell = page.run(code)
    queued = page.run("print('after')")
    press(page, cell, "Allow once")
    shown = read(cell.ok())
    assert shown == '[delete] path="x"\nok, allowed once\n    deleted x\ndone: deleted x\n'
    assert queued.ok().text == "after\n"


def test_a_click_lets_an_agent_of_openais_sdk_go_on_over_its_own_wire(page: FrontEnd) -> None:
    with LoopbackModel([("delete", {"path": "x"})], ["done"]) as model:
        page.run(OPENAI_AGENTS.format(url=f"{model.url}/v1")).ok()
        run = "result = Runner.run_streamed(agent, 'go', run_config=quiet)\nasync for _ in result.stream_events(): pass"
        cell = page.run(f"{run}\nprint(result.final_output)")
        press(page, cell, "Allow once")
        assert cell.ok().text.endswith("done\n")
    assert "deleted x" in str(model.requests[1]["messages"][-1])


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_chat_asks_under_its_cell_and_is_kept_as_a_record(page: FrontEnd, provider: str) -> None:
    page.run("toolkit.chat.reset()").ok()
    with LoopbackModel(CALLS, DONE) as model:
        url = f"{model.url}/v1" if provider == "openai" else model.url
        cell = page.run(f"%%toolkit chat --model m --provider {provider} --base-url {url}\nHow much is it?")
        press(page, cell, "Allow once")
        cell.ok()
    lines = [line for line in read(cell).splitlines() if line]
    assert lines[0] == "Let me see."
    assert lines[1:4] == ["[add] a=1, b=1", "ok, allowed as read-only", "    2"]
    assert lines[4:7] == ['[delete] path="x"', "ok, allowed once", "    deleted x"]
    assert lines[7:] == ["It is **2**, and `x` is gone <b>for good</b>."]
    html = read(cell, "text/html")
    assert "It is <b>2</b>, and <code" in html
    assert "<b>for good" not in html
    page.until(lambda: not page.on_screen(cell), "the live display to go")


def test_stop_in_the_live_display_ends_the_model_and_the_cell_goes_on(page: FrontEnd) -> None:
    page.run("toolkit.chat.reset()").ok()
    with LoopbackModel(["Once upon a time, far away."], held=0) as model:
        cell = page.run(
            f"answer = await toolkit.chat('go', model='m', base_url='{model.url}/v1')\nprint(answer.stopped)"
        )
        queued = page.run("print('after')")
        press(page, cell, "Stop")
        assert cell.ok().text.endswith("stopped\n")
        assert "Ended: stopped by you." in cell.text
        assert queued.ok().text == "after\n"


def test_an_interrupt_leaves_a_history_that_can_go_on(page: FrontEnd) -> None:
    page.run("toolkit.chat.reset()").ok()
    with LoopbackModel([("delete", {"path": "x"})], ["Well."]) as model:
        cell = page.run(f"%%toolkit chat --model m --base-url {model.url}/v1\ngo")
        page.until(lambda: "Allow once" in str([page.models[m] for m in page.on_screen(cell)]), "the card")
        page.kernel.interrupt()
        assert cell.wait().error.startswith("KeyboardInterrupt")
        assert read(page.run("%%toolkit chat\nand now?").ok()) == "Well.\n"
    assert "interrupted" in str(model.requests[1]["messages"])


def test_a_chat_without_a_person_is_denied_what_asks_and_shows_records_only(page: FrontEnd) -> None:
    page.run("toolkit.chat.reset()").ok()
    page.allow_stdin = False
    with LoopbackModel(CALLS, DONE) as model:
        cell = page.run(f"%%toolkit chat --model m --base-url {model.url}/v1 --calls 5\ngo").ok()
    page.allow_stdin = True
    assert cell.views == []
    assert not cell.of("update_display_data")
    assert cell.text.startswith("Let me see.\n[add] a=1")


def test_a_wrong_line_is_one_line(page: FrontEnd) -> None:
    page.run("toolkit.chat.reset()").ok()
    with LoopbackModel(404) as model:
        cell = page.run(f"%%toolkit chat --model m --base-url {model.url}/v1\ngo").wait()
    assert cell.error.startswith("CommandError: the model's endpoint refused: Error code: 404")
    cell = page.run("%%toolkit chat --calls many\ngo").wait()
    assert cell.error == "CommandError: --calls expects a number, but got 'many'"

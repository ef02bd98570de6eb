"""A model's reply in every provider's words: read from SDK objects, plain dicts and streams, and answered alike."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from google.genai import types as gemini_types
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam
from openai.types.responses import Response, ResponseInputItemParam
from pydantic import TypeAdapter

from nbtoolkit import FunctionTool, Toolkit
from nbtoolkit.agents import said
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultBlock, URLSource
from nbtoolkit.permission import Approval
from nbtoolkit.tool import ToolChunk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PNG = "iVBORw0KGgo="
Made = dict[str, Any]
DIALECTS = ["openai", "openai_responses", "anthropic", "gemini"]


def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


def plot() -> ToolChunk:
    """Draw."""
    return ToolChunk(
        content=[
            TextBlock(text="two bars"),
            DataBlock(source=Base64Source(data=PNG, media_type="image/png"), name="bars"),
            DataBlock(source=URLSource(url="https://example.org/a.csv", media_type="text/csv"), name="table"),
        ]
    )


def fail() -> str:
    """Break."""
    raise ValueError("broken")


def delete(path: str) -> str:
    """Delete."""
    return path


@pytest.fixture
def toolkit() -> Toolkit:
    made = Toolkit([FunctionTool(each, is_read_only=True) for each in (add, plot, fail)])
    made.add_tool_sync(FunctionTool(delete))
    return made


# ------------------------------------------------------------------------------------------------ replies, as on the wire


def chat(*calls: tuple[str, str, str]) -> Made:
    made = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
    message = {"role": "assistant", "content": None, "tool_calls": made, "refusal": None}
    choice = {"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def responses(*calls: tuple[str, str, str]) -> Made:
    items: list[Made] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    items += [
        {"type": "function_call", "id": f"fc_{i}", "call_id": i, "name": n, "arguments": a, "status": "completed"}
        for i, n, a in calls
    ]
    base = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": items, "tools": []}
    return {**base, "parallel_tool_calls": True, "tool_choice": "auto", "status": "completed"}


def messages(*calls: tuple[str, str, str]) -> Made:
    blocks: list[Made] = [{"type": "text", "text": "Let me see."}]
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": json.loads(a)} for i, n, a in calls]
    base = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": blocks}
    return {**base, "stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 5}}


def content(*calls: tuple[str, str, str]) -> Made:
    parts = [{"functionCall": {"id": i, "name": n, "args": json.loads(a)}} for i, n, a in calls]
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": "Let me see."}, *parts]}}]}


REPLIES = {"openai": chat, "openai_responses": responses, "anthropic": messages, "gemini": content}
CLASSES: dict[str, Any] = {
    "openai": ChatCompletion,
    "openai_responses": Response,
    "anthropic": Message,
    "gemini": gemini_types.GenerateContentResponse,
}


def parts_of(reply: Made) -> list[Any]:
    """The reply, and what people take out of it."""
    if "choices" in reply:
        message = reply["choices"][0]["message"]
        return [reply, message, message["tool_calls"], message["tool_calls"][:1]]
    if "output" in reply:
        return [reply, reply["output"], reply["output"][1:], reply["output"][1]]
    if "candidates" in reply:
        whole = reply["candidates"][0]["content"]
        return [reply, whole, whole["parts"], whole["parts"][1], [p["functionCall"] for p in whole["parts"][1:]]]
    return [reply, {"role": "assistant", "content": reply["content"]}, reply["content"], reply["content"][1]]


def shown(dialect: str, results: list[Any]) -> list[tuple[Any, str, bool]]:
    """Id, text and whether it is a failure, of each result."""
    found: list[tuple[Any, str, bool]] = []
    for message in results:
        if dialect == "openai" and message["role"] == "tool":
            found.append((message["tool_call_id"], message["content"], message["content"].startswith("Error: ")))
        elif dialect == "openai_responses":
            found.append((message["call_id"], message["output"], message["output"].startswith("Error: ")))
        elif dialect == "anthropic":
            for block in message["content"]:
                text = "".join(each["text"] for each in block["content"])
                found.append((block["tool_use_id"], text, block.get("is_error", False)))
        elif dialect == "gemini":
            for part in message["parts"]:
                answer = part["functionResponse"]
                [(key, text)] = answer["response"].items()
                found.append((answer.get("id"), text, key == "error"))
    return found


# ------------------------------------------------------------------------------------------------ reading and answering


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("as_object", [True, False], ids=["sdk object", "plain dicts"])
def test_parallel_calls_are_answered_in_order_under_their_ids(toolkit: Toolkit, dialect: str, as_object: bool) -> None:
    reply = REPLIES[dialect](("call_1", "add", '{"a": 1}'), ("call_2", "add", '{"a": 5, "b": 2}'))
    given = CLASSES[dialect].model_validate(reply) if as_object else reply
    results = toolkit.run_calls_sync(given)
    assert shown(dialect, results) == [("call_1", "2", False), ("call_2", "7", False)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_part_of_a_reply_is_known_by_its_shape(toolkit: Toolkit, dialect: str) -> None:
    for given in parts_of(REPLIES[dialect](("call_1", "add", '{"a": 1}'))):
        assert shown(dialect, toolkit.run_calls_sync(given)) == [("call_1", "2", False)], given


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_failure_a_denial_and_a_wrong_name_are_results_in_the_providers_own_form(
    toolkit: Toolkit, dialect: str
) -> None:
    reply = REPLIES[dialect](("1", "fail", "{}"), ("2", "delete", '{"path": "x"}'), ("3", "nothing", "{}"))
    first, second, third = shown(dialect, toolkit.run_calls_sync(reply))
    assert first[2]
    assert "ValueError: broken" in first[1]
    assert second[2]
    assert "denied" in second[1]
    assert third[2]
    assert "The tool named 'nothing' doesn't exist." in third[1]


@pytest.mark.parametrize("dialect", ["openai", "openai_responses"])
def test_broken_arguments_are_mended_or_told_of_and_never_raised(toolkit: Toolkit, dialect: str) -> None:
    reply = REPLIES[dialect](("1", "add", "{'a': 1,}"), ("2", "add", "a is one"), ("3", "add", '{"a": "x"}'))
    results = shown(dialect, toolkit.run_calls_sync(reply))
    assert results[0] == ("1", "2", False)
    assert "ToolJSONDecodeError" in results[1][1]
    assert "ToolArgumentsError" in results[2][1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_without_calls_needs_no_answer(toolkit: Toolkit, dialect: str) -> None:
    assert toolkit.run_calls_sync(REPLIES[dialect]()) == []


def test_an_assistants_plain_text_needs_no_answer_either(toolkit: Toolkit) -> None:
    assert toolkit.run_calls_sync({"role": "assistant", "content": "Done."}) == []
    assert toolkit.run_calls_sync({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}) == []
    assert toolkit.run_calls_sync([]) == []


LANGCHAIN = {"type": "ai", "content": "", "tool_calls": [{"name": "add", "args": {}, "id": "1", "type": "tool_call"}]}


@pytest.mark.parametrize(
    "given", ["text", None, 5, {"a": 1}, [1], [{"a": 1}], {"type": "message"}, object(), LANGCHAIN]
)
def test_what_is_no_reply_is_an_error_that_says_what_is_known(toolkit: Toolkit, given: Any) -> None:
    with pytest.raises(TypeError, match="is no reply that can be read; expected one of OpenAI"):
        toolkit.run_calls_sync(given)


def test_a_person_is_asked_and_the_calls_are_the_agents(toolkit: Toolkit) -> None:
    asked = []

    async def approver(request: Any) -> Approval:
        asked.append((request.tool.name, request.tool_input, request.origin.kind, request.origin.name))
        return Approval.allow()

    results = toolkit.run_calls_sync(messages(("1", "delete", '{"path": "x"}')), approver=approver)
    assert shown("anthropic", results) == [("1", "x", False)]
    assert asked == [("delete", {"path": "x"}, "agent", "anthropic")]
    assert [entry.to_dict()["asked_by"] for entry in toolkit.log] == ["anthropic"]


# ------------------------------------------------------------------------------------------------ pictures and files


def test_openai_gets_pictures_in_one_message_behind_all_tool_messages(toolkit: Toolkit) -> None:
    results = toolkit.run_calls_sync(chat(("1", "plot", "{}"), ("2", "add", '{"a": 1}'), ("3", "plot", "{}")))
    assert [message["role"] for message in results] == ["tool", "tool", "tool", "user"]
    assert results[0]["content"] == (
        "two bars\n[image 1: in the message below]\n[text/csv 'table': https://example.org/a.csv]"
    )
    assert [part["type"] for part in results[3]["content"]] == ["text", "image_url", "text", "image_url"]
    assert results[3]["content"][1]["image_url"]["url"] == f"data:image/png;base64,{PNG}"
    assert "plot" in results[3]["content"][2]["text"]
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(results)


def test_responses_get_pictures_inside_the_output(toolkit: Toolkit) -> None:
    [result] = toolkit.run_calls_sync(responses(("1", "plot", "{}")))
    assert [part["type"] for part in result["output"]] == ["input_text", "input_image", "input_text"]
    TypeAdapter(list[ResponseInputItemParam]).validate_python([result])


def test_anthropic_gets_pictures_inside_the_result(toolkit: Toolkit) -> None:
    [message] = toolkit.run_calls_sync(messages(("1", "plot", "{}")))
    [block] = message["content"]
    assert [part["type"] for part in block["content"]] == ["text", "image", "text"]
    assert block["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}


def test_gemini_gets_pictures_in_a_content_of_their_own(toolkit: Toolkit) -> None:
    answers, data = toolkit.run_calls_sync(content(("1", "plot", "{}")))
    assert "[data 1: in the message below]" in answers["parts"][0]["functionResponse"]["response"]["output"]
    assert data["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": PNG}}
    for each in (answers, data):
        gemini_types.Content.model_validate(each)


def test_an_empty_result_has_a_word_in_its_place(toolkit: Toolkit) -> None:
    def quiet() -> str:
        return " "

    toolkit.add_tool_sync(FunctionTool(quiet, description="Say nothing.", is_read_only=True))
    assert shown("anthropic", toolkit.run_calls_sync(messages(("1", "quiet", "{}")))) == [("1", "(empty)", False)]


# ------------------------------------------------------------------------------------------------ streams


def chat_pieces() -> list[Made]:
    def piece(**delta: Any) -> Made:
        base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    def call(index: int, text: str, **head: Any) -> Made:
        name = {"name": head.pop("name")} if head else {}
        return piece(tool_calls=[{"index": index, **head, "function": {**name, "arguments": text}}])

    return [
        piece(role="assistant", content="Let "),
        piece(content="me see."),
        call(0, "", id="call_1", name="add", type="function"),
        call(0, '{"a"'),
        call(1, '{"a": 5', id="call_2", name="add", type="function"),
        call(0, ": 1}"),
        call(1, "}"),
        {**piece(), "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    ]


def response_pieces(*, whole: bool) -> list[Made]:
    def item(index: int, call_id: str, text: str) -> Made:
        held = {"type": "function_call", "id": f"fc_{index}", "call_id": call_id, "name": "add", "arguments": text}
        return {"output_index": index, "item": held, "sequence_number": 0}

    def delta(index: int, text: str) -> Made:
        kind = "response.function_call_arguments.delta"
        return {"type": kind, "output_index": index, "item_id": f"fc_{index}", "delta": text, "sequence_number": 0}

    pieces = [
        {"type": "response.created", "response": responses(), "sequence_number": 0},
        {"type": "response.output_item.added", **item(0, "call_1", "")},
        delta(0, '{"a"'),
        delta(0, ": 1}"),
        {"type": "response.output_item.done", **item(0, "call_1", '{"a": 1}')},
        {"type": "response.output_item.added", **item(1, "call_2", "")},
        delta(1, '{"a": 5}'),
    ]
    if whole:
        reply = responses(("call_1", "add", '{"a": 1}'), ("call_2", "add", '{"a": 5}'))
        pieces.append({"type": "response.completed", "response": reply, "sequence_number": 0})
    return pieces


def message_pieces() -> list[Made]:
    def start(index: int, block: Made) -> Made:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def delta(index: int, **held: str) -> Made:
        return {"type": "content_block_delta", "index": index, "delta": held}

    opened = {**messages(), "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": opened},
        start(0, {"type": "text", "text": ""}),
        delta(0, type="text_delta", text="Let me"),
        delta(0, type="text_delta", text=" see."),
        {"type": "content_block_stop", "index": 0},
        start(1, {"type": "tool_use", "id": "call_1", "name": "add", "input": {}}),
        delta(1, type="input_json_delta", partial_json=""),
        delta(1, type="input_json_delta", partial_json='{"a"'),
        delta(1, type="input_json_delta", partial_json=": 1}"),
        {"type": "content_block_stop", "index": 1},
        start(2, {"type": "tool_use", "id": "call_2", "name": "add", "input": {}}),
        delta(2, type="input_json_delta", partial_json='{"a": 5}'),
        {"type": "content_block_stop", "index": 2},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def content_pieces() -> list[Made]:
    first = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Let me"}]}}]}
    second = {"candidates": [{"content": {"role": "model", "parts": [{"text": " see."}]}}]}
    calls = [content((f"call_{n}", "add", f'{{"a": {a}}}')) for n, a in ((1, 1), (2, 5))]
    for each in calls:
        each["candidates"][0]["content"]["parts"].pop(0)
    return [first, second, *calls]


STREAMS: list[tuple[str, list[Made], Any]] = [
    ("openai", chat_pieces(), TypeAdapter(ChatCompletionChunk)),
    ("openai_responses", response_pieces(whole=True), None),
    ("openai_responses", response_pieces(whole=False), None),
    ("anthropic", message_pieces(), TypeAdapter(RawMessageStreamEvent)),
    ("gemini", content_pieces(), TypeAdapter(gemini_types.GenerateContentResponse)),
]


@pytest.mark.parametrize(("dialect", "pieces", "adapter"), STREAMS, ids=["chat", "items", "broken", "blocks", "parts"])
def test_the_pieces_of_a_stream_are_gathered_into_whole_calls(
    toolkit: Toolkit, dialect: str, pieces: list[Made], adapter: Any
) -> None:
    expected = [("call_1", "2", False), ("call_2", "6", False)]
    objects = [adapter.validate_python(each) for each in pieces] if adapter is not None else pieces

    async def stream() -> AsyncIterator[Any]:
        for each in objects:
            yield each

    def iterate() -> Iterator[Any]:
        yield from objects

    async def later() -> Any:
        return stream()

    for given in (pieces, objects, iterate(), stream(), later()):
        assert shown(dialect, toolkit.run_calls_sync(given)) == expected
    if dialect != "openai_responses":
        assert "Let me see." in json.dumps(asyncio.run(said(pieces)))


def test_a_servers_calls_without_numbers_are_told_apart_by_their_ids(toolkit: Toolkit) -> None:
    def piece(call: Made) -> Made:
        return {"object": "chat.completion.chunk", "choices": [{"delta": {"tool_calls": [call]}}]}

    pieces = [
        piece({"id": "x", "function": {"name": "add", "arguments": '{"a"'}}),
        piece({"function": {"arguments": ": 1}"}}),
        piece({"id": "y", "function": {"name": "add", "arguments": '{"a": 5}'}}),
    ]
    assert shown("openai", toolkit.run_calls_sync(pieces)) == [("x", "2", False), ("y", "6", False)]


def test_a_stream_that_breaks_off_in_the_arguments_is_told_of(toolkit: Toolkit) -> None:
    [(_, text, failed)] = shown("anthropic", toolkit.run_calls_sync(message_pieces()[:8]))
    assert failed
    assert "ToolJSONDecodeError" in text


# ------------------------------------------------------------------------------------------------ the history


def test_what_a_model_said_can_be_kept_as_plain_messages() -> None:
    call = ("call_1", "add", '{"a": 1}')
    [message] = asyncio.run(said(ChatCompletion.model_validate(chat(call))))
    assert message["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    ]
    assert [item["type"] for item in asyncio.run(said(responses(call)))] == ["reasoning", "function_call"]
    [message] = asyncio.run(said(Message.model_validate(messages(call))))
    assert (message["role"], message["content"][1]["input"]) == ("assistant", {"a": 1})
    [message] = asyncio.run(said(gemini_types.GenerateContentResponse.model_validate(content(call))))
    assert (message["role"], message["parts"][1]["functionCall"]["name"]) == ("model", "add")


# ------------------------------------------------------------------------------------------------ odd ones


def test_names_that_were_changed_for_a_provider_are_the_tools_own_again(toolkit: Toolkit) -> None:
    toolkit.add_tool_sync(FunctionTool(add, name="2add", is_read_only=True))
    assert shown("gemini", toolkit.run_calls_sync(content(("1", "_2add", '{"a": 1}')))) == [("1", "2", False)]

    def greet(**size: int) -> str:
        """Greet."""
        return f"{size['größe']} m"

    schema = {"type": "object", "properties": {"größe": {"type": "integer"}}}
    toolkit.add_tool_sync(FunctionTool(greet, input_schema=schema, is_read_only=True))
    assert shown("anthropic", toolkit.run_calls_sync(messages(("1", "greet", '{"gr__e": 3}')))) == [("1", "3 m", False)]


def test_gemini_without_ids_is_answered_without_ids(toolkit: Toolkit) -> None:
    reply = {"role": "model", "parts": [{"function_call": {"name": "add", "args": {"a": 1.0}}}]}
    assert shown("gemini", toolkit.run_calls_sync(reply)) == [(None, "2", False)]


def test_a_custom_tools_text_is_read_as_its_arguments(toolkit: Toolkit) -> None:
    call = {"id": "1", "type": "custom", "custom": {"name": "add", "input": '{"a": 1}'}}
    assert shown("openai", toolkit.run_calls_sync({"role": "assistant", "tool_calls": [call]})) == [("1", "2", False)]
    item = {"type": "custom_tool_call", "call_id": "1", "name": "add", "input": '{"a": 1}'}
    [result] = toolkit.run_calls_sync([item])
    assert result == {"type": "custom_tool_call_output", "call_id": "1", "output": "2"}


def test_arguments_that_a_server_gives_as_an_object_are_read(toolkit: Toolkit) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    assert shown("openai", toolkit.run_calls_sync([call])) == [("1", "2", False)]
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": None}}
    [(_, text, failed)] = shown("openai", toolkit.run_calls_sync([call]))
    assert failed
    assert "ToolArgumentsError" in text


def test_mcp_requests_get_results_or_responses(toolkit: Toolkit) -> None:
    params = {"name": "add", "arguments": {"a": 1}}
    expected = {"content": [{"type": "text", "text": "2"}], "isError": False}
    assert toolkit.run_calls_sync(params) == [expected]
    assert toolkit.run_calls_sync(mcp_types.CallToolRequestParams.model_validate(params)) == [expected]
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    assert toolkit.run_calls_sync(request) == [{"jsonrpc": "2.0", "id": 7, "result": expected}]
    [result] = toolkit.run_calls_sync({"name": "plot", "arguments": {}})
    assert [part["type"] for part in result["content"]] == ["text", "image", "resource_link"]
    mcp_types.CallToolResult.model_validate(result)
    [result] = toolkit.run_calls_sync({"name": "fail", "arguments": {}})
    assert result["isError"] is True


def test_the_toolkits_own_blocks_are_answered_by_blocks(toolkit: Toolkit) -> None:
    block = ToolCallBlock(id="1", name="add", input='{"a": 1}')
    for given in (block, [block], {"role": "assistant", "content": [block.model_dump()]}):
        [result] = toolkit.run_calls_sync(given)
        assert isinstance(result, ToolResultBlock)
        assert (result.id, result.name, result.output[0].type) == ("1", "add", "text")

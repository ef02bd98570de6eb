"""Chunks, and the response that they add up to."""

from __future__ import annotations

import base64
import copy
import json
import pickle

import pytest
from IPython.lib.pretty import pretty

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState, URLSource
from nbtoolkit.tool.result import ToolChunk, ToolResponse


def text(value: str, **kwargs: object) -> ToolChunk:
    return ToolChunk(content=[TextBlock(text=value)], **kwargs)  # type: ignore[arg-type]


def data(raw: bytes, block_id: str | None = None) -> DataBlock:
    block = DataBlock(source=Base64Source(data=base64.b64encode(raw).decode(), media_type="image/png"))
    return block if block_id is None else block.model_copy(update={"id": block_id})


def test_neighbouring_texts_merge_into_one_block() -> None:
    response = ToolResponse().append_chunk(text("a")).append_chunk(text("b"))
    assert [block.text for block in response.content if isinstance(block, TextBlock)] == ["ab"]


def test_texts_with_an_image_between_them_stay_apart_unless_they_share_an_id() -> None:
    response = ToolResponse().append_chunk(text("a"))
    response.append_chunk(ToolChunk(content=[data(b"x")])).append_chunk(text("b"))
    assert [type(block) for block in response.content] == [TextBlock, DataBlock, TextBlock]

    first = TextBlock(text="a")
    joined = ToolResponse().append_chunk(ToolChunk(content=[first]))
    joined.append_chunk(ToolChunk(content=[data(b"x")]))
    joined.append_chunk(ToolChunk(content=[TextBlock(text="b", id=first.id)]))
    assert [getattr(block, "text", None) for block in joined.content] == ["ab", None]


def test_base64_parts_of_one_id_are_decoded_joined_and_encoded_again() -> None:
    response = ToolResponse()
    for part in (b"\x00", b"\x01\x02", b"\x03"):
        response.append_chunk(ToolChunk(content=[data(part, "img")]))
    (block,) = response.content
    assert isinstance(block, DataBlock)
    assert isinstance(block.source, Base64Source)
    assert base64.b64decode(block.source.data) == b"\x00\x01\x02\x03"


def test_a_url_is_never_joined_with_another() -> None:
    source = URLSource(url="https://example.org/a.png", media_type="image/png")
    response = ToolResponse()
    for _ in range(2):
        response.append_chunk(ToolChunk(content=[DataBlock(source=source, id="u")]))
    assert len(response.content) == 2


def test_the_worst_state_wins_whatever_comes_after() -> None:
    order = [
        ToolResultState.RUNNING,
        ToolResultState.SUCCESS,
        ToolResultState.DENIED,
        ToolResultState.INTERRUPTED,
        ToolResultState.ERROR,
    ]
    for worse in order[1:]:
        for better in order[: order.index(worse)]:
            response = ToolResponse().append_chunk(text("", state=worse)).append_chunk(text("", state=better))
            assert response.state is worse


def test_a_finished_response_is_never_running() -> None:
    assert ToolResponse().append_chunk(text("a")).finish().state is ToolResultState.SUCCESS


def test_metadata_merges_except_for_snapshots_of_progress() -> None:
    response = ToolResponse().append_chunk(text("", metadata={"a": 1, "mcp_progress": {"progress": 1}}))
    response.append_chunk(text("", metadata={"b": 2}))
    assert response.metadata == {"a": 1, "b": 2}


def test_content_that_was_looked_at_goes_on_growing() -> None:
    response = ToolResponse().append_chunk(text("a"))
    assert response.text == "a"
    response.append_chunk(text("b"))
    assert response.text == "ab"
    assert response.append_chunk(ToolChunk()).text == "ab"


def test_every_way_of_looking_sees_the_joined_content() -> None:
    def fresh() -> ToolResponse:
        return ToolResponse(id="r").append_chunk(text("a")).append_chunk(text("b"))

    assert fresh().model_dump()["content"][0]["text"] == "ab"
    assert '"ab"' in fresh().model_dump_json()
    assert "'ab'" in repr(fresh())
    assert copy.copy(fresh()).text == "ab"
    assert copy.deepcopy(fresh()).text == "ab"
    assert fresh().model_copy().text == "ab"
    assert pickle.loads(pickle.dumps(fresh())).text == "ab"
    one, other = fresh(), fresh()
    other.content[0].id = one.content[0].id
    other.content[0].created_at = one.content[0].created_at
    assert one == other
    assert ToolResponse.model_validate_json(fresh().model_dump_json()).text == "ab"


def test_the_value_travels_with_the_chunks_and_is_not_serialised() -> None:
    value = object()
    response = ToolResponse().append_chunk(text("a").with_value(value)).append_chunk(text("b"))
    assert response.value is value
    assert "value" not in response.model_dump()


def test_appending_costs_no_more_late_than_early() -> None:
    """Counted, not timed: no chunk is looked at twice before somebody reads the content."""
    response = ToolResponse()
    looked_at = 0

    class Spy(TextBlock):
        def __getattribute__(self, name: str) -> object:
            nonlocal looked_at
            if name == "text":
                looked_at += 1
            return super().__getattribute__(name)

    for _ in range(1000):
        chunk = ToolChunk.model_construct(
            content=[Spy(text="x")], state=ToolResultState.RUNNING, is_last=False, metadata={}, id="c"
        )
        response.append_chunk(chunk)
    assert looked_at == 0
    assert response.text == "x" * 1000
    assert looked_at <= 2000


def test_what_is_assembled_is_what_validation_would_have_made() -> None:
    """Without validation an instance could miss what a newer pydantic wants of one."""
    block, chunk, response = TextBlock.plain("a"), ToolChunk.plain("a", 1), ToolResponse.begun("call")
    piece = ToolChunk.piece(block)
    made = (
        (block, TextBlock(text="a", id=block.id, created_at=block.created_at), {"text"}),
        (chunk, ToolChunk(content=[chunk.content[0]], id=chunk.id).with_value(1), {"content"}),
        (piece, ToolChunk(content=[block], is_last=False, id=piece.id), {"content", "is_last"}),
        (response, ToolResponse(id="call"), {"id"}),
    )
    # Its content is made when somebody looks.
    assert response.content == []
    for assembled, validated, given in made:
        assert vars(assembled) == vars(validated)
        assert assembled is response or list(vars(assembled)) == list(vars(validated))
        assert assembled.model_fields_set == given
        assert json.loads(assembled.model_dump_json()) == json.loads(validated.model_dump_json())
        assert assembled.model_extra is validated.model_extra is None
        for again in (copy.copy(assembled), copy.deepcopy(assembled), pickle.loads(pickle.dumps(assembled))):
            assert vars(again) == vars(validated)
        assert dir(assembled) == dir(validated)
        state, expected = assembled.__getstate__(), validated.__getstate__()
        assert state.keys() == expected.keys()
        assert type(assembled).model_validate_json(assembled.model_dump_json()).model_dump() == validated.model_dump()
    assert chunk.value == 1


def test_a_lone_text_is_one_block_to_whoever_looks() -> None:
    def taken() -> ToolResponse:
        response = ToolResponse.begun("call")
        response.take_text("abc", 1)
        return response

    assert (taken().text, taken().size, taken().value) == ("abc", 3, 1)
    response = taken()
    (block,) = response.content
    assert isinstance(block, TextBlock)
    assert block.text == "abc"
    # Looked at again it is the same one, and what is written there holds.
    assert response.content[0] is block
    response.content = [TextBlock(text="other")]
    assert (response.text, response.size) == ("other", 5)
    unseen = taken()
    unseen.content = []
    assert (unseen.text, unseen.size) == ("", 0)
    assert [each["text"] for each in taken().model_dump()["content"]] == ["abc"]
    assert pickle.loads(pickle.dumps(taken())).text == copy.deepcopy(taken()).content[0].text == "abc"  # type: ignore[union-attr]
    assert "abc" in repr(taken())


def test_what_follows_a_lone_text_joins_it() -> None:
    response = ToolResponse.begun("call")
    response.take_text("abc", None)
    response.append_chunk(text("def")).append_chunk(ToolChunk(content=[data(b"x")]))
    assert [type(block) for block in response.content] == [TextBlock, DataBlock]
    assert (response.text, response.size) == ("abcdef", 6)


def test_content_that_was_set_between_two_chunks_holds() -> None:
    response = ToolResponse().append_chunk(text("a")).append_chunk(text("b"))
    response.content = [TextBlock(text="c")]
    response.append_chunk(text("d"))
    assert response.text == "cd"


def test_shown_without_a_notebook_what_can_not_be_seen_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    ToolResponse().append_chunk(ToolChunk.of("gnp.\u202eexe\x1b[2J"))._ipython_display_()
    assert capsys.readouterr().out == "gnp.⟨U+202E⟩exe⟨U+001B⟩[2J\n"


def test_in_a_list_at_the_end_of_a_cell_it_is_the_same_in_each_run() -> None:
    responses = [ToolResponse().append_chunk(ToolChunk.of("scored\n" * 40)).finish(), ToolResponse().finish()]
    said, again = map(pretty, (responses, copy.deepcopy(responses)))
    assert said == again
    assert said.startswith("[<ToolResponse: success, 'scored scored")
    assert said.endswith(" <ToolResponse: success>]")
    assert len(said) < 140

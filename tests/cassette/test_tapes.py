"""Recording and replaying a toolkit's calls: the same records, nothing run, nothing allowed for longer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from nbtoolkit.cassette import ReplayedValue
from nbtoolkit.exception import CassetteError, CassetteMissError, DeveloperOrientedException
from nbtoolkit.mcp import taping
from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolCallBlock, ToolResultState
from nbtoolkit.notebook import render
from nbtoolkit.permission.approval import Approval, ApprovalRequest
from nbtoolkit.permission.sensitive import protected
from nbtoolkit.redact import MARK
from nbtoolkit.tool import FunctionTool, ToolChunk, ToolGroup, Toolkit, ToolMiddlewareBase
from nbtoolkit.tool.base import ChunkStream, NextHandler, ToolBase

KEY = "ghp_" + "a1B2c3D4" * 5
ran: list[str] = []


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    ran.clear()
    yield
    if taping.tape is not None:  # of a test that failed
        taping.tape.stop()  # type: ignore[attr-defined]


def save(species: str, decimals: int = 1) -> str:
    """Save."""
    ran.append(species)
    return f"saved {species} in {Path.cwd()}/out.csv"


def counts() -> dict[str, int]:
    """Count."""
    ran.append("counts")
    return {"Adelie": 152, "Gentoo": 124}


def small() -> pd.DataFrame:
    """Give a table."""
    return pd.DataFrame({"a": [1.5, 2.5], "b": ["x", "y"]})


def large() -> pd.DataFrame:
    """Give a large table."""
    return pd.DataFrame(np.arange(60_000).reshape(3_000, 20))


def lines() -> Any:
    """Stream."""
    ran.append("lines")
    yield "one\n"
    yield f"the key is {KEY[:9]}"
    yield f"{KEY[9:]}\n"


def fails() -> Any:
    """Fail."""
    yield "so far "
    raise ValueError("no more")


def picture() -> DataBlock:
    """Draw."""
    return DataBlock(source=Base64Source(data="iVBORw0KGgo=", media_type="image/png"), name="dot")


def nothing() -> None:
    """Do nothing."""


FUNCTIONS: list[Callable[..., Any]] = [save, counts, small, large, lines, fails, picture, nothing]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("save", {"species": "Gentoo"}),
    ("save", {"species": "Adelie"}),
    ("save", {"species": "other"}),
    ("save", {"species": "again"}),
    ("save", {"species": "again"}),
    ("save", {"species": "answered"}),
    ("save", {"decimals": "few"}),
    *((function.__name__, {}) for function in FUNCTIONS[1:]),
]


async def person(request: ApprovalRequest) -> Approval:
    match request.tool_input.get("species"):
        case "Adelie":
            return Approval.deny("not yet")
        case "other":
            return Approval.edit({"species": "Chinstrap", "decimals": 2})
        case "again":
            return Approval.allow(scope="kernel")
        case "answered":
            return Approval.respond("42 rows")
        case _:
            return Approval.allow()


def play(toolkit: Toolkit, calls: list[tuple[str, dict[str, Any]]] = CALLS) -> list[dict[str, str]]:
    """The records of all calls."""
    shown = []
    for name, arguments in calls:
        response = toolkit.call_sync(name, **arguments)
        shown.append(render.record(list(toolkit.log)[-1], response))
    return shown


def recorded(path: str = "x.jsonl", calls: list[tuple[str, dict[str, Any]]] = CALLS) -> list[dict[str, str]]:
    toolkit = Toolkit(FUNCTIONS)
    toolkit.approver = person
    with toolkit.record(path):
        return play(toolkit, calls)


def entries(path: str = "x.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()[1:]]


def test_a_replay_gives_the_same_records_and_runs_nothing() -> None:
    before = recorded()
    assert ran
    ran.clear()
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl") as tape:
        after = play(toolkit)
        assert tape.unused == []
    assert after == before
    assert ran == []
    assert toolkit.rules == []


def test_two_recordings_of_the_same_calls_are_the_same_file() -> None:
    recorded("a.jsonl")
    recorded("b.jsonl")
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


def test_values_come_back() -> None:
    recorded()
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl"):
        assert toolkit.call_sync("counts").value == {"Adelie": 152, "Gentoo": 124}
        assert toolkit.call_sync("nothing").value is None
        pd.testing.assert_frame_equal(toolkit.call_sync("small").value, small())
        abridged = toolkit.call_sync("large").value
    assert isinstance(abridged, ReplayedValue)
    assert abridged.shape == (3_000, 20)


def test_the_file_reads_well_and_holds_no_secret_and_no_folder_of_this_machine(tmp_path: Path) -> None:
    recorded()
    assert entries()[:2] == [
        {"ask": "save", "arguments": {"species": "Gentoo", "decimals": 1}, "answer": "allow"},
        {
            "call": "save",
            "arguments": {"species": "Gentoo", "decimals": 1},
            "decision": "allowed once",
            "result": "saved Gentoo in ⟨here⟩/out.csv",
        },
    ]
    text = Path("x.jsonl").read_text("utf-8")
    assert str(tmp_path) not in text
    assert KEY[:9] not in text
    assert KEY[9:] not in text
    streamed = next(each for each in entries() if each.get("call") == "lines")
    assert streamed["stream"][:2] == ["one\n", f"the key is {MARK}"]


def test_a_result_names_the_folder_where_it_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("../x.jsonl"):
        assert toolkit.call_sync("save", species="Gentoo").text == f"saved Gentoo in {tmp_path}/elsewhere/out.csv"


def test_calls_in_another_order_and_with_defaults_written_out_are_found() -> None:
    recorded()
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl"):
        toolkit.call_sync("counts")
        response = toolkit.call_tool_sync(ToolCallBlock(name="save", input='{"decimals": "1", "species": "Gentoo",}'))
    assert response.text.startswith("saved Gentoo")


def test_a_miss_raises_and_is_logged() -> None:
    recorded()
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl"):
        with pytest.raises(CassetteMissError, match='species: the call has "Emperor", the cassette "Gentoo"'):
            toolkit.call_sync("save", species="Emperor")
        toolkit.mode = "bypass"
        with pytest.raises(CassetteMissError, match="Emperor"):
            toolkit.call_sync("save", species="Emperor")
    assert [entry.state for entry in toolkit.log] == [ToolResultState.ERROR] * 2
    assert ran == ["Gentoo", "Chinstrap", "again", "again", "counts", "lines"]


def test_a_miss_behind_a_middleware_that_retries_raises_too() -> None:
    class Retry(ToolMiddlewareBase):
        async def on_tool_call(
            self, tool: ToolBase, input_kwargs: dict[str, Any], next_handler: NextHandler
        ) -> ChunkStream:
            try:
                async for chunk in next_handler(**input_kwargs):
                    yield chunk
            except ValueError:
                yield ToolChunk.of("gave up")

    recorded()
    toolkit = Toolkit([FunctionTool(save, middlewares=[Retry()])])
    toolkit.mode = "bypass"
    with toolkit.replay("x.jsonl"):
        with pytest.raises(CassetteMissError):
            toolkit.call_sync("save", species="Emperor")
        assert toolkit.call_sync("save", species="Gentoo").text.startswith("saved Gentoo")


def test_a_replayed_call_is_validated_and_judged_as_ever() -> None:
    recorded()
    toolkit = Toolkit(FUNCTIONS)
    toolkit.add_rule("counts", "deny")
    with toolkit.replay("x.jsonl"):
        assert toolkit.call_sync("counts").state is ToolResultState.DENIED
        assert toolkit.call_sync("save", decimals="few").state is ToolResultState.ERROR


def test_a_question_that_the_cassette_has_no_answer_for_goes_to_whoever_is_there() -> None:
    toolkit = Toolkit(FUNCTIONS)
    toolkit.mode = "bypass"
    with toolkit.record("x.jsonl"):
        toolkit.call_sync("counts")
    toolkit.mode = "default"
    with toolkit.replay("x.jsonl"):
        assert toolkit.call_sync("counts").state is ToolResultState.DENIED
        toolkit.approver = person
        assert toolkit.call_sync("counts").value == {"Adelie": 152, "Gentoo": 124}


def test_what_a_cassette_allowed_for_longer_ends_with_the_replay() -> None:
    recorded()
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl"):
        toolkit.call_sync("save", species="again")
        assert [str(rule) for rule in toolkit.rules] == ["save(species=again, decimals=1)"]
    assert toolkit.rules == []
    assert toolkit.call_sync("save", species="again").state is ToolResultState.DENIED


def test_a_hostile_cassette_writes_no_rules_file() -> None:
    recorded(calls=[("save", {"species": "Gentoo"})])
    path = Path("x.jsonl")
    text = path.read_text("utf-8").replace(
        '"answer": "allow"', '"answer": "allow", "scope": "project", "rules": ["save"]'
    )
    path.write_text(text, encoding="utf-8")
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl"):
        toolkit.call_sync("save", species="Gentoo")
    assert [each.name for each in Path().iterdir()] == ["x.jsonl"]
    assert toolkit.rules == []


def test_a_folder_is_no_cassette(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match="is a folder; a cassette is a file, such as"):
        Toolkit().record(tmp_path)
    with pytest.raises(CassetteError, match="can't be read"):
        Toolkit().replay(tmp_path)


def test_the_cassette_is_protected() -> None:
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.record("plain-name.txt"):
        assert protected(str(Path("plain-name.txt").absolute()))


def test_update_renews_what_is_called_and_keeps_the_rest_in_its_place() -> None:
    recorded()
    before = entries()
    lines_before = Path("x.jsonl").read_text("utf-8").splitlines()

    def counts() -> dict[str, int]:
        """Count."""
        return {"Adelie": 1}

    counts.__module__ = "another"
    toolkit = Toolkit([counts, save])
    toolkit.approver = person
    with toolkit.record("x.jsonl", update=True):
        toolkit.call_sync("counts")
        toolkit.call_sync("save", species="new")
    after = entries()
    assert after[-2:] == [
        {"ask": "save", "arguments": {"species": "new", "decimals": 1}, "answer": "allow"},
        {
            "call": "save",
            "arguments": {"species": "new", "decimals": 1},
            "decision": "allowed once",
            "result": "saved new in ⟨here⟩/out.csv",
        },
    ]
    changed = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
    assert [(old["call"], new["result"]) for old, new in changed] == [("counts", {"value": {"Adelie": 1}})]
    assert len(lines_before) == len(after) + 1 - 2


def test_an_update_that_changes_nothing_changes_no_byte() -> None:
    recorded()
    before = Path("x.jsonl").read_bytes()
    toolkit = Toolkit(FUNCTIONS)
    toolkit.approver = person
    with toolkit.record("x.jsonl", update=True):
        play(toolkit)
    assert Path("x.jsonl").read_bytes() == before


def test_two_that_update_one_file_keep_each_others_calls() -> None:
    recorded(calls=[("nothing", {})])
    toolkit = Toolkit(FUNCTIONS)
    toolkit.approver = person
    tape = toolkit.record("x.jsonl", update=True)
    toolkit.call_sync("counts")
    # What another process has written meanwhile.
    with Path("x.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"call": "other", "arguments": {}, "result": null}\n')
    toolkit.call_sync("small")
    tape.stop()
    assert [each["call"] for each in entries() if "call" in each] == ["nothing", "counts", "other", "small"]


def test_recording_writes_anew_and_as_it_goes() -> None:
    recorded()
    toolkit = Toolkit(FUNCTIONS)
    toolkit.approver = person
    tape = toolkit.record("x.jsonl")
    toolkit.call_sync("counts")
    assert [each.get("call") for each in entries()] == [None, "counts"]
    tape.stop()
    tape.stop()
    toolkit.call_sync("small")
    assert len(entries()) == 2


def test_an_interrupted_call_is_left_out() -> None:
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return ""

    async def scenario() -> None:
        toolkit = Toolkit([FunctionTool(wait, is_read_only=True)])
        with toolkit.record("x.jsonl"):
            call = toolkit.call("wait")
            task = asyncio.create_task(call.complete())
            await asyncio.sleep(0)
            call.cancel()
            await task

    asyncio.run(scenario())
    assert entries() == []


def test_blocks_that_were_one_stay_one() -> None:
    first, second = DataBlock(source=Base64Source(data="AAAA", media_type="audio/wav")), TextBlock(text="mid")

    async def sound() -> Any:
        """Play."""
        yield ToolChunk(content=[first], is_last=False)
        yield ToolChunk(content=[second], is_last=False)
        yield ToolChunk(
            content=[first.model_copy(update={"source": Base64Source(data="BBBB", media_type="audio/wav")})]
        )

    class Sound(ToolBase):
        name, description, input_schema, is_read_only = "sound", "Play.", {"type": "object", "properties": {}}, True

        async def check_permissions(self, tool_input: dict[str, Any], context: Any) -> Any:
            from nbtoolkit.permission.rule import PermissionBehavior, PermissionDecision

            return PermissionDecision(PermissionBehavior.PASSTHROUGH, "")

        def call(self) -> Any:
            return sound()

    toolkit = Toolkit([Sound()])
    with toolkit.record("x.jsonl"):
        before = toolkit.call_sync("sound").content
    with toolkit.replay("x.jsonl"):
        after = toolkit.call_sync("sound").content
    data = [[(b.source.data if isinstance(b, DataBlock) and isinstance(b.source, Base64Source) else b.type) for b in c]
            for c in (before, after)]  # fmt: skip
    assert data == [["AAAABBBB", "text"]] * 2


def test_what_concerns_this_conversation_alone_is_never_replayed() -> None:
    toolkit = Toolkit(tool_groups=[ToolGroup("extra", "More.", tools=[FunctionTool(counts, is_read_only=True)])])
    with toolkit.record("x.jsonl"):
        toolkit.call_sync("reset_tools", extra=True)
        toolkit.call_sync("counts")
    assert [each.get("call") for each in entries()] == ["counts"]
    again = Toolkit(tool_groups=[ToolGroup("extra", "More.", tools=[FunctionTool(counts, is_read_only=True)])])
    with again.replay("x.jsonl"):
        again.call_sync("reset_tools", extra=True)
        assert again.call_sync("counts").value == {"Adelie": 152, "Gentoo": 124}


def test_one_cassette_at_a_time() -> None:
    recorded()
    one, other = Toolkit(FUNCTIONS), Toolkit(FUNCTIONS)
    first = one.replay("x.jsonl")
    with pytest.raises(DeveloperOrientedException, match="another toolkit is using a cassette"):
        other.replay("x.jsonl")
    second = one.replay("x.jsonl")
    assert not first.running
    assert second.running
    second.stop()
    other.replay("x.jsonl").stop()


def test_an_entry_with_broken_contents_names_its_line() -> None:
    recorded(calls=[("counts", {})])
    path = Path("x.jsonl")
    path.write_text(path.read_text("utf-8").replace('{"value": {', '{"value": {"$": "nope", '), encoding="utf-8")
    toolkit = Toolkit(FUNCTIONS)
    with toolkit.replay("x.jsonl"), pytest.raises(CassetteError, match=r"line 3 of the cassette 'x\.jsonl' is wrong"):
        toolkit.call_sync("counts")

"""The record and the lists: fixed text, and markup that is inert and stands without styles."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from nbtoolkit.message import Base64Source, DataBlock, TextBlock, ToolResultState, URLSource
from nbtoolkit.notebook import render
from nbtoolkit.notebook.schemas import Sent
from nbtoolkit.permission.approval import Approval
from nbtoolkit.permission.rule import PermissionBehavior, PermissionRule
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.result import ToolChunk, ToolResponse
from tests.notebook.asking import HOSTILE, SCHEMA, Markup, Sample, entry

ASK, ALLOW, DENY = PermissionBehavior.ASK, PermissionBehavior.ALLOW, PermissionBehavior.DENY
RECORD_TAGS = {
    "div",
    "p",
    "b",
    "code",
    "span",
    "pre",
    "details",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "img",
}
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\nimage").decode()


def text(*texts: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(text=each) for each in texts])


def valued(value: object) -> ToolResponse:
    return ToolResponse().append_chunk(ToolChunk.of("for the model").with_value(value))


def plain(*args: Any, **kwargs: Any) -> str:
    return render.record(*args, **kwargs)["text/plain"]


def page(*args: Any, **kwargs: Any) -> Markup:
    made = Markup(render.record(*args, **kwargs)["text/html"])
    assert made.tags <= RECORD_TAGS
    return made


# -------------------------------------------------------------------------------------------------------- text/plain


def test_a_record_is_the_call_the_decision_and_the_result() -> None:
    call = entry(
        "score",
        {"sales": "sales", "as_of": "2026-06-30", "threshold": 0.8},
        variables={"sales": "DataFrame 10,000 × 12"},
        behavior=ASK,
        approval=Approval.allow(),
    )
    assert plain(call, text("done\nall")) == (
        '[score] sales=sales (DataFrame 10,000 × 12), as_of="2026-06-30", threshold=0.8\n'
        "ok, allowed once\n"
        "    done\n"
        "    all"
    )


def test_a_denied_call_is_one_line_and_the_reason() -> None:
    call = entry(
        "Bash",
        {"command": "git push origin HEAD:main"},
        "Built-in tool",
        ToolResultState.DENIED,
        behavior=ASK,
        approval=Approval.deny("Push from the terminal"),
    )
    denied = text("The user denied this call: Push from the terminal")
    assert plain(call, denied) == "[Bash] git push origin HEAD:main\ndenied: “Push from the terminal”"
    assert page(call, denied).text == "Bash runs git push origin HEAD:main — denied: “Push from the terminal”"


def test_an_error_is_said_before_the_decision() -> None:
    call = entry("load", {"path": "a.parquet"}, state=ToolResultState.ERROR, behavior=ALLOW, reason="read-only")
    shown = text("FileNotFoundError: a.parquet")
    assert plain(call, shown) == (
        '[load] path="a.parquet"\nerror, allowed as read-only\n    FileNotFoundError: a.parquet'
    )
    assert "error, allowed as read-only" in page(call, shown).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"behavior": ALLOW, "reason": "Rule: Bash(uv run pytest:*)"}, "ok, allowed by Bash(uv run pytest:*)"),
        ({"behavior": ALLOW, "reason": "accept_edits"}, "ok, allowed by mode accept_edits"),
        ({"behavior": ASK, "approval": Approval.allow(scope="kernel")}, "ok, allowed, and always for this kernel"),
        ({"behavior": ASK, "approval": Approval.respond("42")}, "ok, answered by you"),
        ({"behavior": ASK, "state": ToolResultState.INTERRUPTED}, "interrupted, not answered"),
        ({"behavior": DENY, "reason": "Rule: f", "state": ToolResultState.DENIED}, "denied by f"),
        ({"state": ToolResultState.ERROR}, "error, not run"),
    ],
)
def test_the_second_line_says_what_was_decided_and_how_it_ended(fields: dict[str, Any], words: str) -> None:
    assert plain(entry("f", **fields), text()).split("\n") == ["[f]", words]


def test_a_click_and_a_scripts_answer_leave_the_same_record() -> None:
    clicked = entry("f", {"a": 1}, behavior=ASK, approval=Approval.allow(by="person"), waited=12.5, seconds=3.0)
    scripted = entry("f", {"a": 1}, behavior=ASK, approval=Approval.allow(by="script"))
    assert render.record(clicked, text("x")) == render.record(scripted, text("x"))


def test_a_commands_further_lines_are_indented() -> None:
    call = entry("Bash", {"command": "for f in *; do\n  echo $f\ndone"}, "Built-in tool", behavior=ALLOW)
    assert plain(call, text()).startswith("[Bash] for f in *; do\n      echo $f\n    done\nok, allowed")


# ------------------------------------------------------------------------------------------------------- what varies


def test_a_change_of_a_file_is_shown_as_its_difference() -> None:
    call = entry("Edit", {"file_path": "a.py", "old_string": "b", "new_string": "<c>"}, "Built-in tool", behavior=ALLOW)
    change = text("Edited a.py: 1 line added, 1 removed.")
    change.metadata["diff"] = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a\n-b\n+<c>\n"
    assert plain(call, change).endswith(
        "    Edited a.py: 1 line added, 1 removed.\n    @@ -1,2 +1,2 @@\n     a\n    -b\n    +<c>"
    )
    assert "-b\n+&lt;c&gt;</pre>" in render.record(call, change)["text/html"]
    change.metadata["diff"] = "--- a/a.py\n+++ b/a.py\n@@ -0,0 +1 @@\n+a\n"  # a new file: the arguments hold it
    assert "@@" not in plain(call, change)


def test_nothing_in_a_record_differs_between_machines_and_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(home: str, address: str, **varying: Any) -> dict[str, str]:
        monkeypatch.setenv("HOME", home)
        monkeypatch.setenv("USERPROFILE", home)
        call = entry(
            "f",
            {"path": f"{home}/a.csv", "deep": {"x": f"{home}/b"}},
            behavior=ASK,
            approval=Approval.allow(),
            **varying,
        )
        call.id, call.started_at = address, address
        shown = text(f"<obj at {address}> in {home}/out")
        return render.record(call, shown.model_copy(update={"id": address}))

    one = made("/home/ada", "0x7f3a5c0d1e20", number=1, waited=1.0, seconds=2.0, size=3)
    two = made("/Users/bob", "0x104b3f2e0", number=7, waited=9.0, seconds=8.0, size=99)
    assert one == two
    assert "~/a.csv" in one["text/plain"]


# -------------------------------------------------------------------------------------------------- hostile and huge


def test_hostile_text_is_inert_everywhere_in_a_record() -> None:
    call = entry(
        HOSTILE,
        {HOSTILE: HOSTILE, "lines": f"{HOSTILE}\n{HOSTILE}"},
        HOSTILE,
        behavior=ASK,
        approval=Approval.deny(HOSTILE),
        mended=(HOSTILE,),
        variables={HOSTILE: HOSTILE},
    )
    made = render.record(call, text(HOSTILE))
    shown = page(call, text(HOSTILE))
    assert {name for _, attributes in shown.elements for name in attributes} <= {"style"}
    for unseen in ("\u202e", "\x1b", "\x00"):
        assert unseen not in made["text/html"]
        assert unseen not in made["text/plain"]
    assert "⟨U+202E⟩" in shown.text


def test_a_megabyte_is_bounded_and_says_what_was_left_out() -> None:
    call = entry("f", {"text": "A" * 1_000_000, "lines": "b\n" * 500_000}, behavior=ALLOW)
    made = render.record(call, text("C" * 1_000_000))
    assert len(made["text/plain"]) < 60_000
    assert len(made["text/html"]) < 200_000
    assert "960,000 characters left out" in made["text/plain"]


class Loud:
    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__


def test_hostile_table_cells_columns_and_indexes_are_inert() -> None:
    odd = [HOSTILE, "x" * 1_000_000, ["y" * 1_000_000], Loud()]
    frame = pd.DataFrame({HOSTILE: odd, "c" * 1_000_000: pd.Categorical(odd[:2] * 2)}, index=[HOSTILE, "<b>", 3, None])
    shown = page(entry("f", behavior=ALLOW), valued(frame))
    assert "table" in shown.tags
    assert "img" not in shown.tags
    assert "<script>alert(1)</script>" in shown.text
    assert len(shown.text) < 5_000
    assert "\u202e" not in plain(entry("f", behavior=ALLOW), valued(frame))


# ------------------------------------------------------------------------------------------------------------ results


def test_a_frame_is_a_table_in_both_forms() -> None:
    frame = pd.DataFrame({"segment": ["mid", "smb"], "customers": [412, 2871]})
    call = entry("f", behavior=ALLOW, reason="read-only")
    assert plain(call, valued(frame)).split("\n")[2:] == [
        "      segment  customers",
        "    0     mid        412",
        "    1     smb       2871",
    ]
    shown = page(call, valued(frame))
    assert "table" in shown.tags
    assert "for the model" not in shown.text


def test_a_long_frame_shows_its_ends_and_its_dimensions() -> None:
    frame = pd.DataFrame({f"c{i}": range(1_000) for i in range(50)})
    call = entry("f", behavior=ALLOW)
    assert plain(call, valued(frame)).endswith("\n    1,000 rows × 50 columns")
    shown = page(call, valued(frame))
    assert sum(tag == "tr" for tag, _ in shown.elements) < 25
    assert shown.text.endswith("1,000 rows × 50 columns")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(),
        pd.DataFrame({"a": []}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({("x", "y"): [1.5], ("x", "z"): ["t" * 200]}, index=pd.MultiIndex.from_tuples([("u" * 200, 1)])),
        pd.DataFrame({"t": pd.to_datetime(["2026-01-01"]), "b": [True], "n": [None]}),
    ],
)
def test_frames_of_every_shape_are_drawn(frame: pd.DataFrame) -> None:
    assert len(page(entry("f", behavior=ALLOW), valued(frame)).text) < 1_000
    assert len(plain(entry("f", behavior=ALLOW), valued(frame))) < 1_000


def test_a_series_is_a_table_too() -> None:
    assert plain(entry("f", behavior=ALLOW), valued(pd.Series([1, 2], name="n"))).endswith(
        "       n\n    0  1\n    1  2"
    )


def test_more_than_twenty_lines_fold_but_stay_whole_in_text() -> None:
    call = entry("f", behavior=ALLOW)
    lines = "\n".join(f"line {i}" for i in range(1, 42))
    shown = page(call, text(lines))
    assert "Result, 41 lines" in shown.text
    assert "details" in shown.tags
    assert "details" not in page(call, text("\n".join(["x"] * 20))).tags
    assert plain(call, text(lines)).endswith("\n    line 41")


def test_one_long_line_folds_as_well() -> None:
    assert "Result, 10,000 characters" in page(entry("f", behavior=ALLOW), text("x" * 10_000)).text


def test_an_image_is_shown_with_words_in_its_place() -> None:
    image = ToolResponse(content=[DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"), name='a"b')])
    call = entry("plot", behavior=ALLOW)
    shown = page(call, image)
    attributes = dict(shown.elements)["img"]
    assert attributes["src"] == f"data:image/png;base64,{PIXEL}"
    assert attributes["alt"] == 'a"b'
    assert plain(call, image).endswith('\n    [image/png a"b]')


@pytest.mark.parametrize(
    "block",
    [
        DataBlock(source=Base64Source(data='x" onerror="alert(1)', media_type="image/png")),
        DataBlock(source=Base64Source(data=PIXEL, media_type="text/html")),
        DataBlock(source=Base64Source(data="A" * 6_000_000, media_type="image/png")),
        DataBlock(source=Base64Source(data=PIXEL, media_type='image/png" onerror="x')),
        DataBlock(source=URLSource(url="https://example.org/a.png", media_type="image/png")),
    ],
)
def test_what_is_no_image_or_lies_elsewhere_is_named_and_not_fetched(block: DataBlock) -> None:
    shown = page(entry("plot", behavior=ALLOW), ToolResponse(content=[block]))
    assert "img" not in shown.tags
    assert "[" in shown.text


# ---------------------------------------------------------------------------------------------------------- arguments


def test_arguments_are_folded_only_when_the_title_does_not_say_all() -> None:
    short = page(entry("f", {"a": 1, "b": 2}, behavior=ALLOW), text())
    assert "details" not in short.tags
    long = page(entry("f", {"a": 1, "b": 2, "c": [3], "d": "x\ny"}, behavior=ALLOW, mended=("a: '1' → 1",)), text())
    assert long.text.endswith("Argumentsa: 1\nb: 2\nc: [3]\nd:\n    x\n    y\nmended: a: '1' → 1")


# -------------------------------------------------------------------------------------------------- without its styles


def test_the_words_stand_when_styles_are_stripped() -> None:
    call = entry("f", {"a": 1, "b": 2, "c": 3}, behavior=ASK, approval=Approval.allow())
    stripped = re.sub(r'\s(style|class)="[^"]*"', "", render.record(call, text("out"))["text/html"])
    assert stripped == (
        "<div><p><b><code>f</code></b> with a <code>1</code>, b <code>2</code> and 1 more — <span>allowed once</span></p>"
        "<details><summary>Arguments</summary><pre>a: 1\nb: 2\nc: 3</pre></details><pre>out</pre></div>"
    )


# -------------------------------------------------------------------------------------------------------------- lists


def test_a_schema_is_a_table_for_a_person_with_the_json_below() -> None:
    made = render.schema_view(Sample(schema=SCHEMA), group="basic")
    assert made["text/plain"] == (
        "summarise: Sums up one species.\n"
        "Your function · group basic · may change things\n"
        "More about it.\n"
        "  Argument  Value          Type and meaning\n"
        "  species   required       string · Which one.\n"
        "  rows      default 5      integer, 1 to 100\n"
        "  loud      default false  boolean"
    )
    shown = Markup(made["text/html"])
    assert '"maximum": 100' in shown.text
    assert shown.tags <= RECORD_TAGS


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            {"properties": {"args": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            "other names as well: string",
        ),
        ({"additionalProperties": True}, "any names: anything"),
    ],
)
def test_a_schema_that_takes_free_names_says_so(schema: dict[str, Any], said: str) -> None:
    made = render.schema_view(Sample(schema={"type": "object", **schema}))
    assert made["text/plain"].endswith(f"\n  Takes {said}.")
    assert f"Takes {said}." in Markup(made["text/html"]).text
    assert "takes no arguments" not in made["text/plain"]


def test_a_schema_in_a_dialect_is_shown_as_it_is_sent() -> None:
    given = Sent({"name": "summarise"}, "1 change for this provider.", ("rows: pattern left out",))
    made = render.schema_view(Sample(schema=SCHEMA), sent=given, form="Anthropic")
    assert made["text/plain"].endswith(
        'Anthropic: 1 change for this provider.\n  rows: pattern left out\n{\n  "name": "summarise"\n}'
    )
    assert "Anthropic: 1 change for this provider.rows: pattern left out" in Markup(made["text/html"]).text


def test_tools_are_listed_by_group_with_what_is_off() -> None:
    basic, plots = ToolGroup("basic"), ToolGroup("plots", "Plots.")
    reader = Sample("load")
    reader.is_read_only = True
    made = render.tools_table([(basic, reader), (plots, Sample("roc", origin="MCP server hub"))], off=["plots"])
    assert made["text/plain"] == (
        "2 tools\n"
        "  Tool  Group       From            Effect             What it does\n"
        "  load  basic       Your function   only reads         Sums up one species.\n"
        "  roc   plots, off  MCP server hub  may change things  Sums up one species."
    )


def test_a_server_that_says_it_only_reads_is_not_taken_at_its_word() -> None:
    tool = Sample("mcp__hub__look", origin="MCP server hub")
    tool.is_mcp = tool.is_read_only = True
    assert "claims only to read" in render.tools_table([(ToolGroup("basic"), tool)])["text/plain"]
    tool.trust_annotations = True  # type: ignore[attr-defined]
    assert "  only reads" in render.tools_table([(ToolGroup("basic"), tool)])["text/plain"]


def test_the_log_is_a_table_by_number_without_times() -> None:
    late = entry("g", {"b": 2}, number=2, behavior=ALLOW, reason="read-only", seconds=3.21)
    first = entry("f", {"a": 1}, number=1, behavior=ASK, approval=Approval.deny("no"), state=ToolResultState.DENIED)
    assert render.log_table([late, first])["text/plain"] == (
        "2 calls\n"
        "  #  Call        Decided               State\n"
        "  1  f with a 1  denied: “no”          denied\n"
        "  2  g with b 2  allowed as read-only  ok"
    )


def test_a_long_call_or_decision_leaves_the_logs_columns_in_line() -> None:
    long = entry("f", {"a": 1}, behavior=ASK, approval=Approval.deny("no, " * 40), state=ToolResultState.DENIED)
    wide = entry("g" * 100, {"b": 2}, number=2, behavior=ALLOW, reason="read-only")
    made = render.log_table([long, wide])
    _, head, first, second = made["text/plain"].split("\n")
    assert first[head.index("State") :] == "denied"
    assert second[head.index("State") :] == "ok"
    assert "…" in first
    assert "no, " * 25 in Markup(made["text/html"]).text


@dataclass
class Config:
    command: str = "/opt/venv/bin/python"
    args: list[str] = field(default_factory=lambda: ["-m", "mcp_server_time"])


@dataclass
class Client:
    name: str = "time"
    is_stateful: bool = True
    is_connected: bool = True
    mcp_config: Config = field(default_factory=Config)

    def status(self) -> SimpleNamespace:
        return SimpleNamespace(state="connected", starts=1)


def test_servers_are_listed_without_the_folder_of_their_program() -> None:
    made = render.servers_table([Client()])  # type: ignore[list-item]
    assert made["text/plain"].split("\n")[-1] == "  time    python -m mcp_server_time  connected"


def test_an_address_is_listed_without_what_may_be_a_secret() -> None:
    client = Client("hub", mcp_config=SimpleNamespace(url="https://ada:pw@hub.example:8443/mcp?token=s3cret#x"))  # type: ignore[arg-type]
    made = render.servers_table([client])  # type: ignore[list-item]
    assert made["text/plain"].split("\n")[-1] == "  hub     https://hub.example:8443/mcp  connected"


def test_rules_are_listed_with_who_set_them() -> None:
    made = render.rules_table([PermissionRule.parse("Bash(rm:*)", DENY, "nbtoolkit.toml")])
    assert made["text/plain"] == "1 rule\n  Rule        Does  From\n  Bash(rm:*)  deny  nbtoolkit.toml"


def test_an_empty_list_says_so() -> None:
    assert render.log_table([])["text/plain"] == "No calls yet."
    assert render.tools_table([])["text/plain"] == "No tools yet. Decorate a function with @tool to make one."


def test_hostile_names_are_inert_in_every_list() -> None:
    tool = Sample(
        HOSTILE, {"type": "object", "properties": {HOSTILE: {"description": HOSTILE, "enum": [HOSTILE]}}}, HOSTILE
    )
    tool.description = HOSTILE
    group = ToolGroup(HOSTILE, HOSTILE)
    rule = PermissionRule(tool_name=HOSTILE, behavior=ALLOW, source=HOSTILE)
    for made in (
        render.tools_table([(group, tool), (ToolGroup("b", "x"), tool)]),
        render.schema_view(tool, group=HOSTILE),
        render.log_table([entry(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, behavior=ASK, approval=Approval.deny(HOSTILE))]),
        render.servers_table([Client(HOSTILE, mcp_config=Config(HOSTILE, [HOSTILE]))]),  # type: ignore[list-item]
        render.rules_table([rule]),
        render.message(HOSTILE),
    ):
        shown = Markup(made["text/html"])
        assert shown.tags <= RECORD_TAGS - {"img"}
        assert not {"\u202e", "\x1b", "\x00"} & set(made["text/plain"] + made["text/html"])

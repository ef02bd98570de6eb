"""What a running call shows, without a page: the window on its text, its pace, the view, and when there is one."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from nbtoolkit.message import Base64Source, DataBlock
from nbtoolkit.notebook import scheduling
from nbtoolkit.notebook.live import LiveCalls
from nbtoolkit.notebook.progress import MAX_LINES, Pace, Window, time_left
from nbtoolkit.notebook.title import title
from nbtoolkit.notebook.widgets.live import LiveView
from nbtoolkit.tool.progress import Progress
from nbtoolkit.tool.result import ToolChunk
from tests.notebook.asking import HOSTILE, Markup, Sample, models

if TYPE_CHECKING:
    from collections.abc import Iterator

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before = models()
    yield
    assert models() == before


# ----------------------------------------------------------------------------------------------------- text and pace


def test_the_window_keeps_the_last_lines_and_counts_the_others() -> None:
    window = Window()
    for n in range(1_000):
        window.write(f"line {n}\nhalf of")
        window.write(" a line\n")
    window.write("and the one being written")
    assert window.text.splitlines()[-2:] == ["half of a line", "and the one being written"]
    assert len(window.text.splitlines()) == MAX_LINES + 1
    assert window.earlier == 2_000 - MAX_LINES


def test_a_carriage_return_writes_its_line_anew() -> None:
    window = Window()
    for n in range(3):
        window.write(f"\r{n} of 3")
    assert window.text == "2 of 3"
    window.write("\r\ndone\r\n")
    assert window.text == "2 of 3\ndone"


def test_a_blob_without_line_ends_is_bounded() -> None:
    window = Window()
    for _ in range(100):
        window.write("x" * 10_000)
    assert len(window.text) < 2_000
    assert "left out" in window.text


@pytest.mark.parametrize(
    ("snapshots", "moment", "said"),
    [
        ([(0, {"progress": 3, "total": 120, "message": "batch 3"})], 0, "batch 3 · 3 of 120"),
        ([(0, {"progress": 3, "total": 120, "message": "batch 3 of 120"})], 0, "batch 3 of 120"),
        ([(0, {"progress": 0, "total": 100}), (10, {"progress": 20, "total": 100})], 10, "20 % · about 40 s left"),
        ([(0, {"progress": 0, "total": 4000}), (10, {"progress": 1500, "total": 4000})], 10, "1,500 of 4,000 · about 15 s left"),
        ([(0, {"progress": 37, "total": None, "message": None})], 0, "37 so far"),
        ([(0, {"progress": 37, "total": None, "message": "row 37"})], 0, "row 37"),
        ([(0, {"progress": 0, "total": None, "message": None})], 0, ""),
        ([(0, {"progress": "7", "total": float("nan"), "message": 5})], 0, ""),
        ([(0, {"progress": float("inf"), "total": 10**400, "message": "m"})], 0, "m"),
    ],
)  # fmt: skip
def test_progress_is_said_in_words_as_far_as_it_is_known(
    snapshots: list[tuple[float, dict[str, Any]]], moment: float, said: str
) -> None:
    pace = Pace()
    for at, snapshot in snapshots:
        pace.take(snapshot, at)
    assert pace.words(moment) == said


def test_the_share_stays_between_nothing_and_all() -> None:
    pace = Pace()
    assert pace.share is None
    for done, share in ((-5, 0.0), (5, 0.5), (50, 1.0)):
        pace.take({"progress": done, "total": 10}, 0)
        assert pace.share == share


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(2, "a few seconds left"), (41, "about 40 s left"), (200, "about 3 min left"), (9_000, "about 2.5 h left")],
)
def test_the_time_left_is_rounded(seconds: float, said: str) -> None:
    assert time_left(seconds) == said


KEY = "sk-ant-api03-" + "a1B2c3D4" * 10


@pytest.mark.parametrize("piece", [1, 7, 1_000_000])
def test_a_secret_is_out_before_a_line_is_cut(piece: int) -> None:
    window = Window()
    said = f"{'x' * 560} {KEY} {'y' * 9_000} {KEY} {'z' * 300}"
    for at in range(0, len(said), piece):
        window.write(said[at : at + piece])
    assert not re.search(r"sk-ant|a1B2c3|B2c3D4", window.text)
    assert len(window.text) < 1_100
    pace = Pace()
    pace.take({"progress": 1, "message": f"{'m' * 130} {KEY}"}, 0)
    assert "sk-ant" not in pace.words(0)


def test_a_secret_of_many_lines_is_out_when_its_first_ones_have_gone_by() -> None:
    window = Window()
    window.write("-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7\n" * 30 + "-----END RSA PRIVATE KEY-----\n")
    window.write("".join(f"line {n}\n" for n in range(190)))
    assert "MIIE" not in window.text
    assert window.text.endswith("line 189")


# ----------------------------------------------------------------------------------------------------------- the view


def view(**options: Any) -> tuple[LiveView, list[str]]:
    stops: list[str] = []
    line = title("score", {"rows": 5}, origin="Your function")
    return LiveView(line, "allowed once", lambda: stops.append("stop"), **options), stops


def page(shown: LiveView) -> Markup:
    visible = [each for each in shown.widgets if each.layout.display != "none" and hasattr(each, "value")]
    return Markup("".join(str(each.value) for each in visible if "<style>" not in str(each.value)))


def test_it_says_what_runs_how_far_it_is_and_shows_the_text() -> None:
    shown, _ = view()
    window, pace = Window(), Pace()
    window.write("batch 37\n")
    pace.take({"progress": 37, "total": 120, "message": None}, 0)
    shown.update(window, pace, 0, 0.5)
    assert page(shown).text == "score with rows 5Allowed once · running37 of 120batch 37"
    tags = dict(page(shown).elements)
    assert tags["progress"] == {"max": "1", "value": "0.3083", "aria-label": "score with rows 5: 37 of 120"}
    assert tags["pre"]["role"] == "log"
    assert tags["pre"]["aria-live"] == "off"
    shown.close()


def test_without_a_total_the_bar_has_no_value_and_the_time_is_said() -> None:
    shown, _ = view()
    shown.update(Window(), Pace(), 0, 75)
    assert "value" not in dict(page(shown).elements)["progress"]
    assert "1 min 15 s" in page(shown).text
    shown.close()


def test_what_has_not_changed_is_not_sent_again() -> None:
    shown, _ = view()
    window = Window()
    window.write("one\n")
    shown.update(window, Pace(), 0, 0.5)
    sent: list[Any] = []
    for each in shown.widgets:
        each.observe(sent.append)
    shown.update(window, Pace(), 0, 0.5)
    assert sent == []
    shown.close()


def test_stop_stops_once_and_says_so() -> None:
    shown, stops = view()
    button = next(each for each in shown.widgets if getattr(each, "description", "").startswith("Stop\n"))
    assert button.description == "Stop\nscore with rows 5"
    button.click()
    button.click()
    assert stops == ["stop"]
    assert "stopping …" in page(shown).text
    shown.close()


def test_foreign_text_stays_text() -> None:
    shown, _ = view()
    window, pace = Window(), Pace()
    window.take(ToolChunk.of(HOSTILE))
    window.take(ToolChunk(content=[DataBlock(source=Base64Source(data='"><script>', media_type="image/png"))]))
    pace.take({"progress": 1, "total": 2, "message": f'"{HOSTILE}'}, 0)
    shown.update(window, pace, 0, 0.5)
    assert not {"script", "img"} & {tag for tag, _ in page(shown).elements}
    shown.close()


def test_the_latest_picture_is_shown() -> None:
    shown, _ = view()
    window = Window()
    for _ in range(2):
        window.take(ToolChunk(content=[DataBlock(source=Base64Source(data=PIXEL, media_type="image/png"))]))
    shown.update(window, Pace(), 0, 0.5)
    assert dict(page(shown).elements)["img"]["src"] == f"data:image/png;base64,{PIXEL}"
    assert "the latest of 2 pictures" in page(shown).text
    shown.close()


# ------------------------------------------------------------------------------------------------------- when it comes


class Shown:
    """Calls with a page, and what is published for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.published: list[tuple[dict[str, Any], dict[str, Any]]] = []
        monkeypatch.setattr(scheduling, "publish", self._publish)
        # Drawn by the test, not by the clock.
        monkeypatch.setattr(LiveCalls, "_begin_drawing", lambda _: None)
        self.calls = LiveCalls(lambda _: None)

    def _publish(self, data: dict[str, Any], **options: Any) -> bool:
        self.published.append((data, options))
        return True

    def call(self, *, seconds: float, live: bool = True) -> Any:
        place = SimpleNamespace(in_kernel=True, parent={"content": {"allow_stdin": live}})
        entry = SimpleNamespace(
            waited=0.0, tool="score", tool_input={}, variables={}, origin="",
            words="allowed once",
        )  # fmt: skip
        began = time.perf_counter() - seconds
        return SimpleNamespace(
            _began=began, id=f"call-{seconds}", tool=Sample(), place=place, entry=entry, cancel=lambda: None
        )


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    return Shown(monkeypatch)


def piece(text: str) -> ToolChunk:
    return ToolChunk(content=ToolChunk.of(text).content, is_last=False)


def test_a_call_of_one_piece_has_no_feed(shown: Shown) -> None:
    call = shown.call(seconds=5)
    shown.calls.started(call)
    shown.calls.chunk(call, ToolChunk.of("all"))
    assert shown.calls.end(call) is None


def test_a_call_that_is_over_soon_has_no_view(shown: Shown) -> None:
    call = shown.call(seconds=0)
    shown.calls.chunk(call, piece("first\n"))
    shown.calls._feeds[call.id].draw()
    assert shown.published == []
    feed = shown.calls.end(call)
    assert feed is not None
    assert feed.display_id is None


def test_one_that_goes_on_shows_what_came_meanwhile_until_its_record_is_there(shown: Shown) -> None:
    call = shown.call(seconds=1)
    shown.calls.chunk(call, piece("first\n"))
    shown.calls.chunk(call, piece("second\n"))
    feed = shown.calls._feeds[call.id]
    feed.draw()
    [(bundle, options)] = shown.published
    assert bundle["text/plain"].startswith("score without arguments (runs; %toolkit log")
    assert feed.view is not None
    assert page(feed.view).text.endswith("first\nsecond")
    ended = shown.calls.end(call)
    assert ended is feed
    assert ended.display_id == options["display_id"]
    feed.draw()
    ended.close()
    assert len(shown.published) == 1


def test_a_report_of_progress_shows_a_view(shown: Shown) -> None:
    call = shown.call(seconds=1)
    shown.calls.report(Progress("score", 1, 0.0, call, 1.0, 4.0, "loading"))
    feed = shown.calls._feeds[call.id]
    feed.draw()
    assert feed.view is not None
    assert "loading1 of 4" in page(feed.view).text.replace(" · ", "")
    shown.calls.end(call)
    feed.close()


def test_nothing_is_shown_where_nobody_looks(shown: Shown) -> None:
    call = shown.call(seconds=1, live=False)
    shown.calls.chunk(call, piece("first\n"))
    shown.calls._feeds[call.id].draw()
    assert shown.published == []
    shown.calls.end(call)


def test_a_view_goes_into_the_card_that_asked(shown: Shown) -> None:
    taken: list[Any] = []

    def take(widget: Any) -> bool:
        taken.append(widget)
        return True

    card: Any = SimpleNamespace(show_running=take)
    shown.calls = LiveCalls(lambda _: card)
    call = shown.call(seconds=1)
    shown.calls.chunk(call, piece("first\n"))
    feed = shown.calls._feeds[call.id]
    feed.draw()
    assert feed.view is not None
    assert taken == [feed.view.view]
    assert shown.published == []
    assert "score" not in page(feed.view).text
    shown.calls.end(call)
    feed.close()


def test_text_that_a_long_stream_holds_back_is_still_seen(shown: Shown) -> None:
    call = shown.call(seconds=1)
    report = {"progress": 90_000, "total": None, "message": "row 90,000"}
    shown.calls.chunk(call, ToolChunk(content=[], is_last=False, metadata={"mcp_progress": report}))
    feed = shown.calls._feeds[call.id]
    feed.draw()
    assert feed.view is not None
    assert "row 90,000" in page(feed.view).text
    shown.calls.end(call)
    feed.close()

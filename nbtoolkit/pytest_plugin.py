"""pytest fixtures for tests of one's own tools: a toolkit with scripted answers, and a cassette.

    @pytest.mark.toolkit_answers("save_species(species=Gentoo) -> allow", "deny: not yet")
    def test_saving(toolkit):
        toolkit.register(save_species)
        assert toolkit.call_sync("save_species", species="Gentoo").text == "124 rows"

``toolkit`` is fresh for each test and asks the answers of ``toolkit_answers``; one that was never asked for, or a
question without an answer, fails the test at its end. ``cassette`` replays what was recorded beside the test, in
``cassettes/<module>/<test>.cassette.jsonl`` (a method's begins with its class) or the path of the mark
``toolkit_cassette``; ``--toolkit-cassettes=record`` records it. pytest loads this module wherever nbtoolkit is installed, so it imports nothing else until a fixture is used.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nbtoolkit.cassette.player import Replay
    from nbtoolkit.cassette.recorder import Recording
    from nbtoolkit.permission.scripted import PlannedApprover
    from nbtoolkit.tool.toolkit import Toolkit

_OPTION = "--toolkit-cassettes"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the option that says what the fixture ``cassette`` does."""
    parser.getgroup("nbtoolkit").addoption(
        _OPTION,
        choices=("replay", "record", "update"),
        default="replay",
        help="what nbtoolkit's fixture `cassette` does: replay (the default, nothing runs), record anew, or update the "
        "calls that are made and keep the rest",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known."""
    config.addinivalue_line("markers", "toolkit_answers(*lines): the answers of nbtoolkit's fixture `toolkit`")
    config.addinivalue_line("markers", "toolkit_cassette(path): the file of nbtoolkit's fixture `cassette`")


class _Check:
    """Holds a test's answers against its questions when its function has ended; in use from the first fixture on."""

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Any:
        result = yield
        approver: Any = pyfuncitem.funcargs.get("toolkit_answers")
        faults = approver.answers.faults() if approver is not None else []
        if faults:
            pytest.fail("the planned answers don't fit the calls: " + "; ".join(faults), pytrace=False)
        return result


@pytest.fixture
def toolkit_answers(request: pytest.FixtureRequest) -> PlannedApprover:
    """The approver of ``toolkit``; plan answers with the mark, or with ``toolkit_answers.plan("RULE -> ANSWER", …)``."""
    from nbtoolkit.permission.scripted import PlannedApprover

    plugins = request.config.pluginmanager
    if not plugins.has_plugin("nbtoolkit-check"):
        plugins.register(_Check(), "nbtoolkit-check")
    approver = PlannedApprover()
    for mark in reversed(list(request.node.iter_markers("toolkit_answers"))):
        approver.plan(*mark.args)
    return approver


@pytest.fixture
def toolkit(toolkit_answers: PlannedApprover) -> Iterator[Toolkit]:
    """A fresh toolkit that asks ``toolkit_answers``; servers that were attached to it are closed at the end."""
    from nbtoolkit import hooks
    from nbtoolkit.tool.toolkit import Toolkit

    made = Toolkit()
    made.approver = toolkit_answers
    yield made
    if made.tape is not None:
        made.tape.stop()
    for client in made.mcps:
        hooks.drive(client.close())


@pytest.fixture
def cassette(request: pytest.FixtureRequest, toolkit: Toolkit) -> Iterator[Replay | Recording]:
    """The cassette that ``toolkit`` replays, or with --toolkit-cassettes=record or =update records."""
    path = _path(request)
    mode = request.config.getoption(_OPTION)
    tape = toolkit.replay(path) if mode == "replay" else toolkit.record(path, update=mode == "update")
    try:
        yield tape
    finally:
        tape.stop()


def _path(request: pytest.FixtureRequest) -> Path:
    here: Path = request.path
    mark = request.node.get_closest_marker("toolkit_cassette")
    if mark is not None:
        return here.parent / str(mark.args[0])
    own = request.node.name if request.cls is None else f"{request.cls.__qualname__}.{request.node.name}"
    name = re.sub(r"[^\w.\[\]-]+", "_", own)
    if name != own:
        # Another test's name may come to the same.
        name += f"-{hashlib.sha256(own.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return here.parent / "cassettes" / here.stem / f"{name}.cassette.jsonl"

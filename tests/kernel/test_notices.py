"""What a registered function warns of stands in the notebook as a line that is the same in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kernel.frontend import FrontEnd


def test_a_warning_shows_its_text_without_a_path_or_a_process_number(page: FrontEnd) -> None:
    page.run("%load_ext nbtoolkit").ok()
    shown = page.run("@tool\ndef unhinted(x):\n    '''Take anything.'''\n    return x").ok().text
    assert "unhinted" in shown
    assert "x" in shown
    assert "ipykernel" not in shown
    assert "Warning" not in shown
    # Others' warnings are shown as they were.
    assert "UserWarning: mine" in page.run("import warnings; warnings.warn('mine')").ok().text

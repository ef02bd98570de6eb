"""The harness sees what a person sees: proved with stock ipywidgets and no code of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from tests.browser.conftest import OpenNotebook
    from tests.environments import KernelEnvironment

BUTTON = """
import ipywidgets
button, out = ipywidgets.Button(description="Go"), ipywidgets.Output()
button.on_click(lambda _: out.append_stdout("clicked "))
display(button, out)
"""


def test_a_click_on_a_button_reaches_the_kernel(
    open_notebook: OpenNotebook, front_end: str, kernel_env: KernelEnvironment
) -> None:
    page = open_notebook([BUTTON, "import ipykernel\nprint(ipykernel.__version__)"], kernel=kernel_env)
    page.run_all()
    page.wait_idle()
    assert page.text(1) == kernel_env.version
    page.output(0).get_by_role("button", name="Go").click()
    expect(page.output(0)).to_contain_text("clicked")
    assert page.errors == []


def test_cells_show_whether_they_wait_run_or_ended(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook(["import threading\nthreading.Event().wait(60)", "print('later')", "1 / 0"])
    assert page.prompt(0) == "[ ]:"
    page.run_cell(0)
    page.run_cell(1)
    assert page.waiting() == [0, 1]
    assert page.still_waiting(0, seconds=0.5)
    page.interrupt()
    page.wait_idle()
    assert "KeyboardInterrupt" in page.text(0)
    page.run_cell(2)
    page.wait_done(2)
    assert page.outputs(2)[0]["ename"] == "ZeroDivisionError"


def test_a_page_reloaded_finds_its_saved_outputs_and_kernel(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook(["kept = 'still here'\nprint('first')", "print(kept)"])
    page.run_cell(0)
    page.wait_idle()
    page.save()
    page.reload()
    assert page.text(0) == "first"
    page.run_cell(1)
    page.wait_idle()
    assert page.text(1) == "still here"


def test_a_restarted_kernel_has_forgotten(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook(["gone = 1", "print('gone' in globals())"])
    page.run_cell(0)
    page.wait_idle()
    page.restart()
    page.run_cell(1)
    page.wait_idle()
    assert page.text(1) == "False"


def test_cells_are_added_cleared_and_deleted(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook(["print('one')", "print('two')"])
    new = page.add_cell("print('between')", below=0)
    page.run_all()
    page.wait_idle()
    assert [page.text(i) for i in range(3)] == ["one", "between", "two"]
    page.clear_output(new)
    assert page.outputs(new) == []
    page.delete_cell(new)
    assert [page.text(i) for i in range(2)] == ["one", "two"]


def test_both_themes_can_be_pictured(open_notebook: OpenNotebook, front_end: str) -> None:
    page = open_notebook([BUTTON])
    page.run_cell(0)
    page.wait_idle()
    pictures = []
    for shade in ("light", "dark"):
        page.theme(shade)
        pictures.append(page.screenshot(f"harness-{front_end}-{shade}").read_bytes())
    assert pictures[0] != pictures[1]


def test_the_wait_after_a_click_and_the_load_of_a_kernel_are_measured(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    page = open_notebook([BUTTON])
    page.run_cell(0)
    page.wait_idle()
    taken = page.click_until_text(page.output(0).get_by_role("button", name="Go"), 0, "clicked")
    assert taken > 0
    assert page.cpu(0.5) >= 0

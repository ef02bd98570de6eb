"""One kernel for each environment, shared by its tests; a page for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.kernel.frontend import FrontEnd, KernelProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.environments import KernelEnvironment


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what can't be: a page that uses subshells on a kernel that has none."""
    items[:] = [item for item in items if not _impossible(getattr(item, "callspec", None))]


def _impossible(callspec: Any) -> bool:
    parameters = callspec.params if callspec is not None else {}
    return parameters.get("any_page") == "subshells" and parameters["kernel_env"].release < (7,)


@pytest.fixture(scope="session")
def shared_kernel(kernel_env: KernelEnvironment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    kernel = KernelProcess(kernel_env, tmp_path_factory.mktemp(kernel_env.name))
    yield kernel
    kernel.stop()


@pytest.fixture
def kernel(shared_kernel: KernelProcess) -> Iterator[KernelProcess]:
    """A kernel that is idle; one that a test has left otherwise is started anew, and the test fails."""
    yield shared_kernel
    check = FrontEnd(shared_kernel, widgets=False)
    try:
        check.connect()
        check.run("assert not scheduling.pending()\nscheduling.install()").wait(5).ok()
    except AssertionError:
        shared_kernel.restart()
        raise
    finally:
        check.close()


@pytest.fixture
def fresh_kernel(kernel: KernelProcess) -> Iterator[KernelProcess]:
    """A kernel that the test may leave in any state."""
    kernel.restart()
    yield kernel
    kernel.restart()


@pytest.fixture
def open_page(kernel: KernelProcess) -> Iterator[Callable[..., FrontEnd]]:
    """Open a page on the kernel, with FrontEnd's options."""
    pages: list[FrontEnd] = []

    def open_page(**options: bool) -> FrontEnd:
        pages.append(FrontEnd(kernel, **options).connect())
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


@pytest.fixture
def page(open_page: Callable[..., FrontEnd]) -> FrontEnd:
    """A page of JupyterLab with its default settings."""
    return open_page()


@pytest.fixture(params=["subshells", "main-shell"])
def any_page(open_page: Callable[..., FrontEnd], request: pytest.FixtureRequest) -> FrontEnd:
    """A page that sends comms to a subshell (JupyterLab's default), and one that doesn't (as VS Code)."""
    return open_page(subshells=request.param == "subshells")

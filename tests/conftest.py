"""What all rungs share: markers and time limits by folder, cheap rungs first, the kernels' environments."""

from __future__ import annotations

import asyncio
import gc
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.environments import IN_CI, KernelEnvironment, environments, newest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

TESTS = Path(__file__).parent
# Seconds for one test of a rung on two busy cores: a kernel starts in 1-3, a page loads in 3-10; rungs in their order.
LIMITS = {"": 60, "notebook": 120, "kernel": 120, "browser": 240}
RUNGS = list(LIMITS)
# Processes that share two cores with others' may lose a race that nobody will see again: the tests that start them get a
# second try, and the summary names each that needed it. It is a fault to look into, not one that is forgiven.
RERUN = {"kernel", "browser"}


def rung(item: pytest.Item) -> str:
    path = item.path
    if path.suffix == ".ipynb":
        return "notebook"
    return next((name for name in ("kernel", "browser") if TESTS / name in path.parents), "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the upper rungs, and run the cheap ones first: Playwright keeps a loop in the thread once it has started."""
    for item in items:
        name = rung(item)
        if name in RERUN:
            item.add_marker(name)
            item.add_marker(pytest.mark.flaky(reruns=1))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMITS[name]))
    items.sort(key=lambda item: RUNGS.index(rung(item)))


def pytest_configure() -> None:
    """Hear a stop, and let what the tests start hear it, also where the run was started deaf to it, as behind an ``&``."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    """Let Python end: each of the hundreds of IPython shells that tests made collects all garbage once more at exit."""
    gc.freeze()


def absent(reason: str) -> None:
    """Skip on a desk, fail in CI."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def standard_asyncio_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the next test Python's own asyncio.run back: an MCPClient made under a running loop lets it nest."""
    monkeypatch.setattr(asyncio, "run", asyncio.run)


def on_kernel(environment: KernelEnvironment) -> ParameterSet:
    """Let a kernel's own fault block nobody: a test on it still runs, and may fail."""
    marks = [pytest.mark.xfail(reason=environment.fault, strict=False)] if environment.fault else []
    return pytest.param(environment, id=environment.name, marks=marks)


@pytest.fixture(scope="session", params=[on_kernel(environment) for environment in environments()])
def kernel_env(request: pytest.FixtureRequest) -> KernelEnvironment:
    """Run the test on each ipykernel that is supported."""
    environment: KernelEnvironment = request.param
    if environment.missing:
        absent(environment.missing)
    return environment


@pytest.fixture(scope="session")
def newest_kernel_env() -> KernelEnvironment:
    """Run the test on the newest ipykernel only."""
    return newest()

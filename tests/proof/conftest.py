"""The proofs' one setting, their counts, and a kernel of their own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.proof.plan import LONG, SEED, Plan
from tests.proof.writers import Writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.environments import KernelEnvironment
    from tests.kernel.frontend import KernelProcess

HERE = Path(__file__).parent
_plan = Plan()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all to Linux, with whose means the faults are made, and give the short form of the upper rungs a second try."""
    for item in items:
        if HERE not in item.path.parents:
            continue
        if not sys.platform.startswith("linux"):
            item.add_marker(pytest.mark.skip(reason="the faults are made with Linux's means"))
        if not LONG and (item.get_closest_marker("kernel") or item.get_closest_marker("browser")):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was done."""
    if not _plan.counts and not _plan.figures:
        return
    form = "long" if LONG else "short"
    terminalreporter.section(f"proof, {form} form, NBTOOLKIT_PROOF_SEED={SEED}")
    for kind, number in sorted(_plan.counts.items()):
        terminalreporter.line(f"{number:>9,}  {kind}")
    for name, text in sorted(_plan.figures.items()):
        terminalreporter.line(f"{name}: {text}")


@pytest.fixture(scope="session")
def plan() -> Plan:
    """The run's plan: how long, which seed, and what it counted."""
    return _plan


@pytest.fixture(scope="session")
def writers() -> Iterator[Writers]:
    """What starts writers to be killed."""
    writers = Writers()
    yield writers
    writers.close()


@pytest.fixture
def new_kernel(newest_kernel_env: KernelEnvironment, tmp_path: Path) -> Iterator[Callable[[], KernelProcess]]:
    """Start kernels that a test may kill."""
    from tests.kernel.frontend import KernelProcess

    kernels: list[KernelProcess] = []

    def start() -> KernelProcess:
        folder = tmp_path / f"kernel-{len(kernels)}"
        folder.mkdir()
        kernels.append(KernelProcess(newest_kernel_env, folder))
        return kernels[-1]

    yield start
    for kernel in kernels:
        kernel.stop()

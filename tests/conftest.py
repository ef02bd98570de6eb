"""What all rungs share: markers and time limits by folder, cheap rungs first, the kernels' environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments import IN_CI, KernelEnvironment, environments, newest

TESTS = Path(__file__).parent
# Seconds for one test of a rung on two busy cores: a kernel starts in 1-3, a page loads in 3-10.
LIMITS = {"kernel": 120, "browser": 240}


def rung(item: pytest.Item) -> str:
    path = item.path
    if path.suffix == ".ipynb":
        return "notebook"
    return next((name for name in LIMITS if TESTS / name in path.parents), "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the upper rungs, and run the cheap ones first: Playwright keeps a loop in the thread once it has started."""
    for item in items:
        if limit := LIMITS.get(rung(item)):
            item.add_marker(rung(item))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(limit))
    order = ["", "notebook", *LIMITS]
    items.sort(key=lambda item: order.index(rung(item)))


def absent(reason: str) -> None:
    """Skip on a desk, fail in CI."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session", params=environments(), ids=lambda environment: environment.name)
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

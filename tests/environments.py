"""The kernels that tests run against: one environment for each version in kernels.txt, and the tests' own.

An environment holds a kernel and nbtoolkit, nothing of the tests: they start its interpreter and speak to it from outside.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from importlib.metadata import distributions, version
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Set by CI services: there, what is missing is a failure, not a skip.
IN_CI = os.environ.get("CI", "").lower() not in {"", "0", "false"}


@dataclass(frozen=True)
class KernelEnvironment:
    """An interpreter with one version of ipykernel."""

    version: str
    python: Path

    @property
    def name(self) -> str:
        """The name of its kernelspec."""
        return f"ipykernel-{self.version}"

    @property
    def release(self) -> tuple[int, ...]:
        """Its version as numbers, to compare."""
        return tuple(int(part) for part in self.version.split(".")[:3])

    @property
    def fault(self) -> str:
        """Why a test may fail on it through no fault of ours, or an empty string."""
        if (7,) <= self.release < (7, 4):
            return "ipykernel 7.0-7.3 sometimes never run the first cells after a start or restart; 7.4 mends it"
        return ""

    @property
    def argv(self) -> list[str]:
        """The command that starts its kernel, with Jupyter's place for the connection file."""
        return [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]

    @property
    def missing(self) -> str:
        """Why it can't be used, or an empty string."""
        if not self.python.exists():
            return f"no environment for ipykernel {self.version}: make environments"
        site = next(iter(self.python.parent.parent.glob("lib/python*/site-packages")), None)
        found = [d.version for d in distributions(name="ipykernel", path=[str(site)])]
        if self.version not in found:
            return f"the environment for ipykernel {self.version} holds {found}: make clean environments"
        return ""

    def install(self, data_dir: Path) -> None:
        """Write its kernelspec below `data_dir`, a JUPYTER_DATA_DIR."""
        folder = data_dir / "kernels" / self.name
        folder.mkdir(parents=True, exist_ok=True)
        spec = {
            "argv": self.argv,
            "display_name": self.name,
            "language": "python",
            "interrupt_mode": "signal",
            "metadata": {"debugger": False},
        }
        (folder / "kernel.json").write_text(json.dumps(spec), "utf-8")


def environments() -> list[KernelEnvironment]:
    """List every environment that should be there, oldest kernel first."""
    listed = (ROOT / "tests" / "kernels.txt").read_text("utf-8").split()
    found = [KernelEnvironment(v, ROOT / ".venvs" / f"ipykernel-{v}" / "bin" / "python") for v in listed]
    if version("ipykernel") not in listed:
        found.append(KernelEnvironment(version("ipykernel"), Path(sys.executable)))
    return sorted(found, key=lambda environment: environment.release)


def newest() -> KernelEnvironment:
    """Return the tests' own environment, which holds the newest kernel."""
    return KernelEnvironment(version("ipykernel"), Path(sys.executable))

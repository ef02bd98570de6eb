"""A real Jupyter server for browser tests: Lab and Notebook 7 on one loopback port, in folders of its own.

It sees no configuration, kernelspec, setting or workspace of the person who runs the tests, and asks no network for news.
Each environment of `tests.environments` is a kernelspec of its own name there.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

import nbformat
import psutil

from tests.environments import KernelEnvironment, environments, newest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Seconds; a cold start on two busy cores takes about 6.
START_LIMIT = 90
STOP_LIMIT = 20
# The server is on this machine, whatever proxy the environment names.
OPENER = build_opener(ProxyHandler({}))
SETTINGS: dict[str, dict[str, Any]] = {
    # No toast lies over what a test clicks on, nothing is fetched.
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
    # A test saves when it says so; a file that is newer on the disk asks nobody.
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False, "lastModifiedCheckMargin": 1_000_000_000},
}


def kernel_named(kernel: KernelEnvironment | None) -> dict[str, str]:
    """Return the notebook metadata that starts `kernel`, the newest by default."""
    name = (kernel or newest()).name
    return {"name": name, "display_name": name, "language": "python"}


class Server:
    """A running server; `root` is what its file browser shows, `stop()` ends it and its kernels."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.log = folder / "server.log"
        self._folder = folder
        self._token = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._base = ""

    def start(self) -> None:
        """Start it and return when it listens."""
        self.root.mkdir(parents=True)
        env = self._environment()
        for environment in [*environments(), newest()]:
            if not environment.missing:
                environment.install(self._folder / "data")
        for plugin, values in SETTINGS.items():
            package, _, name = plugin.partition(":")
            path = self._folder / "lab" / "settings" / package / f"{name}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), "utf-8")
        command = [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=18888"),
            # Parallel runs each find a port.
            "--ServerApp.port_retries=200",
            f"--ServerApp.root_dir={self.root}",
            "--ServerApp.terminals_enabled=False",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
        ]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._base = self._wait_for_address()

    def _environment(self) -> dict[str, str]:
        env = {
            key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "IPYTHON", "NBTOOLKIT"))
        }
        folders = {
            "HOME": "home",
            "XDG_CONFIG_HOME": "home/.config",
            "IPYTHONDIR": "ipython",
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "lab/settings",
            "JUPYTERLAB_WORKSPACES_DIR": "lab/workspaces",
        }
        for key, name in folders.items():
            (self._folder / name).mkdir(parents=True, exist_ok=True)
            env[key] = str(self._folder / name)
        # By the environment, not the command line, where any user of the machine could read it.
        return {**env, "JUPYTER_TOKEN": self._token, "PYTHONUNBUFFERED": "1"}

    def _wait_for_address(self) -> str:
        assert self._process is not None
        info = self._folder / "runtime" / f"jpserver-{self._process.pid}.json"
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                url: str = json.loads(info.read_text("utf-8"))["url"]
            except (FileNotFoundError, json.JSONDecodeError):
                # The tick of this wait; it ends early when the server does.
                try:
                    self._process.wait(0.05)
                except subprocess.TimeoutExpired:
                    continue
            else:
                return url
        raise RuntimeError(f"the Jupyter server did not come up; the end of its log:\n{self.log_tail()}")

    def stop(self) -> None:
        """End the server, which ends its kernels."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines that the server and its kernels wrote."""
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])

    # ------------------------------------------------------------------------------------------------ notebooks
    def add_notebook(self, name: str, cells: Sequence[str], kernel: KernelEnvironment | None = None) -> str:
        """Write a notebook of code cells and return its path below the root."""
        book = nbformat.v4.new_notebook(metadata={"kernelspec": kernel_named(kernel)})
        book.cells = [nbformat.v4.new_code_cell(source.strip("\n")) for source in cells]
        nbformat.write(book, self.root / name)
        return name

    def add_copy(
        self, source: Path, name: str | None = None, kernel: KernelEnvironment | None = None, outputs: bool = False
    ) -> str:
        """Copy a notebook, without its outputs unless told, to run on `kernel`; return its path below the root.

        The modules that lie beside it come along.
        """
        book = nbformat.read(source, as_version=4)
        book.metadata["kernelspec"] = kernel_named(kernel)
        for cell in book.cells:
            if cell.cell_type == "code" and not outputs:
                cell.outputs, cell.execution_count = [], None
        nbformat.write(book, self.root / (name or source.name))
        for module in source.parent.glob("*.py") if source.parent != self.root else ():
            shutil.copy(module, self.root)
        return name or source.name

    def add_folder(self, source: Path) -> None:
        """Copy all that lies in `source` to the root, as it is."""
        shutil.copytree(source, self.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))

    # ---------------------------------------------------------------------------------------------------- server
    def url(self, path: str) -> str:
        """Return the address of `path` on the server, token included."""
        return f"{self._base}{quote(path.lstrip('/'))}?token={self._token}"

    def api(self, path: str, method: str = "GET") -> Any:
        """Ask the server's REST API below /api/."""
        headers = {"Authorization": f"token {self._token}"}
        request = Request(f"{self._base}api/{path}", method=method, headers=headers)
        with OPENER.open(request, timeout=30) as reply:
            body = reply.read()
        return json.loads(body) if body else None

    def kernel_id(self, notebook: str) -> str:
        """Return the id of the kernel that `notebook` runs on."""
        ids: list[str] = [s["kernel"]["id"] for s in self.api("sessions") if s["path"] == notebook]
        if not ids:
            raise LookupError(f"no kernel runs for {notebook!r}")
        return ids[0]

    def kernel_process(self, notebook: str) -> psutil.Process:
        """Return the process of the kernel of `notebook`, to measure or to kill."""
        assert self._process is not None
        kernel_id = self.kernel_id(notebook)
        for child in psutil.Process(self._process.pid).children(recursive=True):
            if any(kernel_id in word for word in child.cmdline()):
                return child
        raise LookupError(f"no process runs for the kernel of {notebook!r}")

    def shutdown_kernels(self) -> None:
        """End every kernel, so that the next test starts with none."""
        for session in self.api("sessions"):
            self.api(f"sessions/{session['id']}", "DELETE")
        for kernel in self.api("kernels"):
            self.api(f"kernels/{kernel['id']}", "DELETE")

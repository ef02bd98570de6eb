"""Where a running kernel serves its notebook: asked of the kernel itself, by its connection file.

It promises that nothing is started or changed in the kernel: one silent question, whose answer comes to the asker alone.
Whoever can read a connection file can run any code there; the file is the person's, and only theirs to read.
"""

from __future__ import annotations

import ast
import socket
import time
from pathlib import Path
from typing import Any

from nbtoolkit.exception import DeveloperOrientedException

__all__ = ["NotServing", "find"]

# A kernel that runs a cell answers after it; a client waits about so long for its server to start.
PATIENCE = 25.0
# Without a file the newest kernels are asked in turn; one that is busy mustn't keep the others from being asked.
EACH = 3.0
NEWEST = 12

_QUESTION = "(lambda m: m and m.access())(__import__('sys').modules.get('nbtoolkit.notebook.serving'))"


class NotServing(DeveloperOrientedException):
    """No kernel was found that serves its notebook."""


def find(connection_file: str | None = None) -> dict[str, Any]:
    """Address and headers of the kernel of that file, else of the newest that serves; NotServing says what to do."""
    if connection_file is not None:
        path = _path(connection_file)
        access = _ask(path, PATIENCE)
        if access is None:
            raise NotServing(
                f"the kernel of {path} serves no tools; write %toolkit serve in its notebook, then start this again"
            )
        return access
    files = _newest()
    for path in files:
        try:
            access = _ask(path, EACH)
        except NotServing:
            continue
        if access is not None:
            return access
    raise NotServing(
        f"none of {len(files)} kernels that were asked serves its notebook; write %toolkit serve in one, "
        "or name a kernel that is busy by --kernel FILE, which %connect_info prints there"
    )


def _path(given: str) -> Path:
    from jupyter_client.connect import find_connection_file

    if Path(given).exists():
        return Path(given)
    try:
        return Path(find_connection_file(given))
    except OSError:
        raise NotServing(
            f"there is no connection file {given!r}; expected the path that %connect_info prints in the notebook, "
            "or the kernel's id"
        ) from None


def _newest() -> list[Path]:
    from jupyter_core.paths import jupyter_runtime_dir

    found = [(path.stat().st_mtime, path) for path in Path(jupyter_runtime_dir()).glob("kernel-*.json")]
    return [path for _, path in sorted(found, reverse=True)[:NEWEST]]


def _ask(path: Path, patience: float) -> dict[str, Any] | None:
    """What the kernel says; NotServing where it doesn't answer in time."""
    from jupyter_client.blocking.client import BlockingKernelClient

    client = BlockingKernelClient(connection_file=str(path))
    try:
        client.load_connection_file()
    except (OSError, ValueError) as error:
        raise NotServing(f"{path} can't be read as a connection file: {error}") from None
    if _has_ended(client):
        raise NotServing(f"the kernel of {path} has ended; start it, and write %toolkit serve in its notebook")
    client.start_channels(iopub=False, stdin=False, hb=False, control=False)
    try:
        asked = client.execute(
            "", silent=True, store_history=False, user_expressions={"access": _QUESTION}, allow_stdin=False
        )
        return _answer(client, asked, path, patience)
    finally:
        client.stop_channels()


def _has_ended(client: Any) -> bool:
    """Whether nobody listens at the kernel's port: a message to it would wait for ever."""
    if client.transport != "tcp":
        return False
    try:
        socket.create_connection((client.ip, client.shell_port), EACH).close()
    except OSError:
        return True
    return False


def _answer(client: Any, asked: str, path: Path, patience: float) -> dict[str, Any] | None:
    import queue

    late = time.monotonic() + patience
    while True:
        try:
            reply = client.get_shell_msg(timeout=max(0.01, late - time.monotonic()))
        except queue.Empty:
            raise NotServing(
                f"the kernel of {path} did not answer within {patience:g} s: it has ended, or a cell keeps it busy"
            ) from None
        if reply["parent_header"].get("msg_id") == asked:
            break
    given = reply["content"].get("user_expressions", {}).get("access", {})
    text = given.get("data", {}).get("text/plain", "None") if given.get("status") == "ok" else "None"
    access = ast.literal_eval(text)
    return access if isinstance(access, dict) else None

"""Where the program of a stdio server is, and what is near where there is none."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtoolkit.mcp.config import StdioMCPConfig

__all__ = ["find_command", "folder_of"]


def folder_of(config: StdioMCPConfig) -> Path | None:
    """The folder to start it in, where one is given."""
    return None if config.cwd is None else Path(config.cwd).expanduser()


def find_command(config: StdioMCPConfig) -> str:
    """The program to start; FileNotFoundError names what is near.

    Looked for on PATH, then beside the kernel's own interpreter: what ``%pip install`` brought lies there, and that
    folder is often not on the PATH of a kernel.
    """
    if (folder := folder_of(config)) is not None and not folder.is_dir():
        raise NotADirectoryError(f"there is no folder {str(config.cwd)!r} to start it in")
    if config.command.startswith("~"):
        config = config.model_copy(update={"command": str(Path(config.command).expanduser())})
    path = (config.env or {}).get("PATH", os.environ.get("PATH", os.defpath))
    beside = str(Path(sys.executable).parent)
    if folder is not None and os.sep in config.command and not Path(config.command).is_absolute():
        return str(folder / config.command)
    found = shutil.which(config.command, path=path) or shutil.which(config.command, path=beside)
    if found is None and Path(config.command).is_file():
        raise PermissionError(f"{config.command!r} is a file, but no program that may be run")
    if found is None:
        raise FileNotFoundError(_not_found(config.command, [*path.split(os.pathsep), beside]))
    return found


# A host with a port, or one with a path behind it.
_ADDRESS = re.compile(r"[\w-]+(\.[\w-]+)*(:\d+)(/|$)|[\w-]+(\.[\w-]+)*\.[a-z]{2,}/")


def _not_found(command: str, folders: list[str]) -> str:
    import difflib

    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names.update(entry.name for entry in Path(folder).iterdir())
    near = difflib.get_close_matches(command, names, n=3, cutoff=0.75)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if _ADDRESS.match(command):
        hint = " The address of a server begins with http:// or https://."
    return f"there is no program {command!r} on PATH or beside {Path(sys.executable).name!r}.{hint}"

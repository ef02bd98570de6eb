"""Servers out of the configuration files that people have already: read, expanded and previewed, nothing started.

``.mcp.json``, Claude desktop and Cursor (``mcpServers``), VS Code (``servers``, with comments), jupyter-ai
(``mcp_servers``, a list). Whatever another program was allowed to do without asking is not taken over.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtoolkit.mcp.client import MCPClient
from nbtoolkit.mcp.config import HttpMCPConfig, StdioMCPConfig, hidden_args, hidden_url
from nbtoolkit.mcp.inputs import Input, declared_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["ConfigFileError", "PlannedServer", "find_configs", "first_fault", "plan_server", "read_config"]

# A configuration is small; anything larger is something else.
FILE_LIMIT = 1024 * 1024
# What a server's entry may hold; the rest is named as left aside.
_KNOWN = {"command", "args", "env", "cwd", "url", "serverUrl", "headers", "type", "transport", "name", "disabled"}
_VARIABLE = re.compile(r"\$\{([^{}]+)\}")
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]+")


class ConfigFileError(ValueError):
    """A file that holds no servers in any form that is known; the text says what was expected."""


@dataclass(frozen=True)
class PlannedServer:
    """A server that a file tells of.

    ``client`` is None where ``problem`` says why it can't be had. ``preview`` is what would be started or reached, with
    variables by name and without values; ``notes`` tell what of the entry isn't taken over. ``disabled`` is an entry that
    the file itself switches off. ``inputs`` are what it wants to be told before it starts, see ``read_config``.
    """

    name: str
    file: Path
    preview: str
    client: MCPClient | None
    problem: str | None = None
    disabled: bool = False
    notes: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()


def find_configs(folder: str | Path = ".") -> list[Path]:
    """The configuration files there are for this folder: its own and those of the folders above, then the user's."""
    here, home = Path(folder).resolve(), _home()
    found: list[Path] = []
    for place in (here, *here.parents):
        found += [place / name for name in (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json")]
        found.append(place / ".jupyter" / "mcp_settings.json")
        if place == home or (place / ".git").exists():
            break
    if home is not None:
        found += [home / ".cursor" / "mcp.json", home / ".jupyter" / "mcp_settings.json", _claude_desktop(home)]
    return [path for path in dict.fromkeys(found) if path.is_file()]


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


def _claude_desktop(home: Path) -> Path:
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home)
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return base / "Claude" / "claude_desktop_config.json"


def read_config(
    path: str | Path, environment: Mapping[str, str] | None = None, inputs: Mapping[str, str] | None = None
) -> list[PlannedServer]:
    """The servers of a file, each with a client that isn't connected, or the reason why not.

    ``${VAR}``, ``${VAR:-default}`` and ``${env:VAR}`` are taken from the environment, ``${workspaceFolder}`` is the
    folder that the file belongs to, anywhere in a text; ``~/`` begins a command or a folder. ``${input:NAME}`` is what
    the person said, in ``inputs`` by its name.
    """
    file = Path(path).expanduser().absolute()
    data = _load(file)
    variables = _Variables(os.environ if environment is None else environment, file, data, inputs)
    planned: list[PlannedServer] = []
    taken: set[str] = set()
    for name, entry in _entries(data, file):
        server = _plan(name, entry, file, variables, taken)
        taken.add(server.name)
        planned.append(server)
    return planned


# ----------------------------------------------------------------------------------------------------- the file
def _load(file: Path) -> Any:
    try:
        if file.stat().st_size > FILE_LIMIT:
            raise ConfigFileError(f"{_shown(file)} is larger than any configuration ({file.stat().st_size:,} bytes).")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigFileError(f"{_shown(file)} can't be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ConfigFileError(f"{_shown(file)} is no UTF-8 text.") from error
    try:
        return json.loads(_without_comments(text))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigFileError(f"{_shown(file)} is no JSON: {error}.") from error


def _shown(file: Path) -> str:
    """The file as a person names it: from here, or from home."""
    for base, before in ((Path.cwd(), ""), (_home(), "~/")):
        # What lies below the root lies nowhere in particular.
        if base is not None and len(base.parts) > 1 and file.is_relative_to(base):
            return f"{before}{file.relative_to(base).as_posix()}"
    return str(file)


# A string, a comment of either kind, or a comma before a closing bracket.
_JSONC = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _without_comments(text: str) -> str:
    """Plain JSON out of what VS Code writes; positions in messages stay right, as each comment keeps its length."""
    for _ in range(2):
        # Twice: a comma may stand before a comment that stands before the bracket.
        text = _JSONC.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text)
    return text


def _entries(data: Any, file: Path) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict):
        for key in ("mcpServers", "servers"):
            if isinstance(data.get(key), dict):
                yield from data[key].items()
                return
        listed = data.get("mcp_servers")
        if isinstance(listed, list):
            for number, entry in enumerate(listed, 1):
                named = entry.get("name") if isinstance(entry, dict) else None
                yield (named if isinstance(named, str) and named else f"server{number}"), entry
            return
        if isinstance(listed, dict):
            yield from listed.items()
            return
    raise ConfigFileError(
        f"{_shown(file)} holds no MCP servers: expected an object with 'mcpServers' (.mcp.json, Claude desktop, Cursor), "
        "'servers' (VS Code) or 'mcp_servers' (jupyter-ai)."
    )


# ----------------------------------------------------------------------------------------------------- one entry
class _Variables:
    """Where ``${…}`` comes from."""

    def __init__(
        self, environment: Mapping[str, str], file: Path, data: Any = None, told: Mapping[str, str] | None = None
    ) -> None:
        self.environment = environment
        self.declared = declared_inputs(data)
        self.told = dict(told or {})
        # What is to be told yet, of the server that is read.
        self.wanted: dict[str, Input] = {}
        folder = file.parent
        # .vscode/mcp.json belongs to the folder above.
        workspace = folder.parent if folder.name in {".vscode", ".cursor", ".jupyter"} else folder
        self.own = {"workspaceFolder": str(workspace), "userHome": str(_home() or "~"), "pathSeparator": os.sep}
        self.folder = workspace

    def expand(self, text: str) -> str:
        return _VARIABLE.sub(lambda found: self._value(found[1]), text)

    def _value(self, reference: str) -> str:
        name, given, default = reference.partition(":-")
        if name in self.own:
            return self.own[name]
        if name.startswith("input:"):
            wanted = name.removeprefix("input:")
            if wanted not in self.told:
                self.wanted[wanted] = self.declared.get(wanted) or Input(wanted)
            return self.told.get(wanted, "")
        value = self.environment.get(name.removeprefix("env:"))
        # As a shell has it: the default also stands in for what is set to nothing.
        if given and not value:
            return default
        if value is None:
            raise _Problem(f"the environment variable {name.removeprefix('env:')!r} isn't set")
        return value


class _Problem(Exception):  # noqa: N818 - a reason, told in the plan
    """Why this server can't be had."""


def plan_server(name: str, entry: Any, file: str | Path) -> PlannedServer:
    """One server by its entry in ``file``, variables expanded as ``read_config`` does it."""
    path = Path(file).absolute()
    return _plan(name, entry, path, _Variables(os.environ, path), set())


def _plan(name: str, entry: Any, file: Path, variables: _Variables, taken: set[str]) -> PlannedServer:
    notes: list[str] = []
    safe = _name(name, taken)
    if safe != name:
        notes.append(f"called {safe!r} here, since providers refuse {name!r}")
    preview, client, problem, disabled = "", None, None, False
    variables.wanted = {}
    try:
        if not isinstance(entry, dict):
            raise _Problem(f"its entry is {entry!r:.80}, not an object")
        left = sorted(set(entry) - _KNOWN)
        if left:
            notes.append(f"not taken over: {', '.join(left)}")
        preview = _preview(entry)
        disabled = entry.get("disabled") is True
        if disabled:
            raise _Problem("it is disabled in the file")
        client = MCPClient(name=safe, is_stateful=True, mcp_config=_config(entry, variables))
    except _Problem as error:
        problem = str(error)
    except ValueError as error:
        problem = f"its entry doesn't fit: {first_fault(error)}"
    inputs = tuple(variables.wanted.values())
    if inputs and not disabled:
        client, problem = None, f"it wants to be told {', '.join(repr(each.name) for each in inputs)} before it starts"
    return PlannedServer(safe, file, preview, client, problem, disabled, tuple(notes), inputs)


def first_fault(error: ValueError) -> str:
    """What is wrong with a configuration, without what was put into it."""
    faults = getattr(error, "errors", None)
    if faults is None:
        return str(error)
    # pydantic repeats the input, which may be a secret; place and reason are enough.
    fault = faults()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _name(name: str, taken: set[str]) -> str:
    base = _REFUSED.sub("-", name).strip("-") or "server"
    safe, number = base, 2
    while safe in taken:
        safe, number = f"{base}-{number}", number + 1
    return safe


def _config(entry: dict[str, Any], variables: _Variables) -> StdioMCPConfig | HttpMCPConfig:
    kind = entry.get("type") or entry.get("transport")
    url = entry.get("url") or entry.get("serverUrl")
    if isinstance(url, str):
        address = variables.expand(url)
        if not address.casefold().startswith(("http://", "https://")):
            raise _Problem(f"its url begins with {address.partition(':')[0]!r}, not with http:// or https://")
        config = HttpMCPConfig(url=address, headers=_pairs(entry.get("headers"), variables) or None)
        if kind == "sse" and config.transport != "sse":
            raise _Problem("it speaks SSE, which is only known by a path that ends in /sse")
        return config
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise _Problem("its entry has neither a command nor a url")
    args = entry.get("args") or []
    if not isinstance(args, list) or not all(isinstance(each, str) for each in args):
        raise _Problem("its args are no list of texts")
    cwd, expanded = entry.get("cwd"), variables.expand(command)
    return StdioMCPConfig(
        command=str(Path(expanded).expanduser()) if expanded.startswith("~/") else expanded,
        args=[variables.expand(each) for each in args],
        env=_pairs(entry.get("env"), variables) or None,
        cwd=variables.folder / Path(variables.expand(cwd)).expanduser() if isinstance(cwd, str) else None,
    )


def _named(value: Any) -> Iterable[tuple[str, Any]]:
    """Names and values, from an object or from a list of {name, value}."""
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return [(str(each.get("name")), each.get("value")) for each in value if isinstance(each, dict)]
    return ()


def _pairs(value: Any, variables: _Variables) -> dict[str, str]:
    return {name: variables.expand(each if isinstance(each, str) else json.dumps(each)) for name, each in _named(value)}


def _preview(entry: dict[str, Any]) -> str:
    url = entry.get("url") or entry.get("serverUrl")
    if isinstance(url, str):
        names = ", ".join(f"{name}: …" for name, _ in _named(entry.get("headers")))
        return hidden_url(url) + (f" ({names})" if names else "")
    args = entry.get("args")
    words = [str(entry.get("command", "")), *map(str, args if isinstance(args, list) else ())]
    env = "".join(f"{name}=… " for name, _ in _named(entry.get("env")))
    return env + " ".join(word if _VARIABLE.search(word) else shlex.quote(word) for word in hidden_args(words))

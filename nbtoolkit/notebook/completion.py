"""Tab behind ``%toolkit``: subcommands, options, tools, argument names and their values, groups, modes, servers, rules.

``complete`` is a function of text and of what is known. ``Matcher`` gives it to IPython's completer, which JupyterLab,
Notebook and the terminal ask; nothing here waits for a server.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtoolkit import hooks
from nbtoolkit.message import ToolResultState
from nbtoolkit.notebook.arguments import may_stand
from nbtoolkit.notebook.command import CommandError, Option, Spec, Word, find, split
from nbtoolkit.notebook.exports import FORMATS as EXPORTS
from nbtoolkit.notebook.fields import resolve, variable_class
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.notebook.names import is_of, public
from nbtoolkit.permission.rule import PermissionMode
from nbtoolkit.tool.files import FileChange
from nbtoolkit.tool.schemas import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Candidate", "Known", "Matcher", "complete"]

# The magic at the start of a line, behind another magic, or behind `name =`.
_LINE = re.compile(r"\s*(?:[^\s%=][^%=]*=\s*|%{1,2}\w+\s+)?(%{1,2})toolkit[ \t]+(.*)")
_ANSWERS = ("allow", "always", "deny", "edit", "respond")


class Candidate(NamedTuple):
    """A word that could stand here, and what it is."""

    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class Known:
    """What there is to complete with: a toolkit and the notebook's variables."""

    toolkit: Toolkit
    variables: Mapping[str, Any]

    def tools(self) -> dict[str, ToolBase]:
        """The tools by name, of servers only those that are in the cache."""
        found = _at_once(self.toolkit.all_tools())
        if found is None:
            found = [(group, tool) for group in self.toolkit.tool_groups for tool in group.tools]
        return {tool.name: tool for _, tool in found}

    def words(self, kind: str) -> Iterable[str]:
        """The words of one kind."""
        toolkit = self.toolkit
        match kind:
            case "tool":
                return self.tools()
            case "rule":
                return [*self.tools(), *(f"mcp__{client.name}" for client in toolkit.mcps)]
            case "known rule":
                return map(str, toolkit.rules)
            case "group":
                return [group.name for group in toolkit.tool_groups]
            case "active" | "inactive":
                on = kind == "active"
                return [group.name for group in toolkit.tool_groups[1:] if toolkit.is_active(group) is on]
            case "number":
                return [str(entry.number) for entry in toolkit.log]
            case "change":
                changes = (n for n in toolkit.results if isinstance(toolkit.results[n], FileChange))
                return map(str, changes)
            case "server":
                return [client.name for client in toolkit.mcps]
            case "pending":
                waiting = getattr(hooks.default_approver, "pending", None)
                return [call.id for call in waiting()] if waiting is not None else ()
            case "cassette":
                # The usual name, and any other of its kind.
                return sorted(str(path) for path in Path().glob("*.jsonl"))
            case "expression":
                return public(self.variables)
            case _:
                return _FIXED.get(kind, ())


# Not free: an expression is Python, a path a file, and a rule may be for a tool that is still to come.
_KNOWN = frozenset(
    {"tool", "known rule", "group", "active", "inactive", "number", "change", "server", "pending", "mode", "export"}
)

_FIXED: dict[str, Iterable[str]] = {
    "mode": list(PermissionMode),
    "format": FORMATS,
    "export": EXPORTS,
    "answer": _ANSWERS,
    "rules": ("accept", "reload"),
    "state": [state.value for state in ToolResultState if state is not ToolResultState.RUNNING],
    "decided": ("allowed", "answered", "denied"),
}


def _at_once(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives if it needs no waiting, else None."""
    with warnings.catch_warnings():
        # A server that is down is said when it is used, not at each key.
        warnings.simplefilter("ignore")
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value
        coroutine.close()
    return None


def complete(text: str, known: Known, *, cell: bool = False) -> tuple[str, list[Candidate]]:
    """What could stand at the end of ``text``, the line behind the magic's name: the part to replace, and with what."""
    words = split(text, unfinished=True)
    word = words.pop() if words and words[-1].end == len(text) else Word("", "")
    if not words:
        wanted = {"may", "must"} if cell else {"none", "may"}
        names = [name.partition(" ")[0] for name, spec in SPECS.items() if spec.body in wanted]
        return word.raw, _fitting(word.raw, names, "subcommand")
    try:
        spec, used = find(words, SPECS)
    except CommandError:
        below = [name.partition(" ")[2] for name in SPECS if name.startswith(f"{words[0].text} ")]
        return word.raw, _fitting(word.raw, below if len(words) == 1 else [], "subcommand")
    return _behind(spec, words[used:], word, known)


def _behind(spec: Spec, given: list[Word], word: Word, known: Known) -> tuple[str, list[Candidate]]:
    options = {option.name: option for option in spec.options}
    name, equals, value = word.raw.partition("=")
    if equals and name in options:
        return value, _fitting(value, known.words(options[name].kind), options[name].kind)
    open_option, positions = _position(options, given)
    if open_option is not None and not word.raw.startswith("--"):
        return word.raw, _fitting(word.raw, known.words(open_option.kind), open_option.kind)
    if word.raw.startswith("-") and options:
        used = {each.text.partition("=")[0] for each in given}
        return word.raw, _fitting(word.raw, [each for each in options if each not in used], "option")
    if not spec.kinds or (spec.most is not None and len(positions) >= spec.most):
        return word.raw, []
    kind = spec.kinds[min(len(positions), len(spec.kinds) - 1)]
    if kind == "arguments":
        return _arguments(positions, word, known)
    if kind == "subcommand":
        depth = len(positions)
        names = [each.split(" ") for each in SPECS if each]
        here = [parts[depth] for parts in names if len(parts) > depth and parts[:depth] == [w.text for w in positions]]
        return word.raw, _fitting(word.raw, here, kind)
    return word.raw, _fitting(word.raw, known.words(kind), kind)


def is_known(text: str) -> bool:
    """Whether nothing but words of the toolkit's own can stand at the end of ``text``, so that Python's names help nobody."""
    words = split(text, unfinished=True)
    word = words.pop() if words and words[-1].end == len(text) else Word("", "")
    if not words or "=" in word.raw:
        return False
    try:
        spec, used = find(words, SPECS)
    except CommandError:
        return False
    option, positions = _position({option.name: option for option in spec.options}, words[used:])
    if option is not None:
        return option.kind in _KNOWN
    if not spec.kinds or (spec.most is not None and len(positions) >= spec.most):
        return False
    kind = spec.kinds[min(len(positions), len(spec.kinds) - 1)]
    return kind in _KNOWN or kind == "arguments"


def _position(options: Mapping[str, Option], given: list[Word]) -> tuple[Option | None, list[Word]]:
    """The option whose value is still to come, and the words that are no options or options' values."""
    waiting: Option | None = None
    positions: list[Word] = []
    for word in given:
        option = options.get(word.text)
        if option is not None:
            waiting = option if option.value else None
        elif waiting is not None:
            waiting = waiting if waiting.many else None
        elif word.text.partition("=")[0] not in options:
            positions.append(word)
    return waiting, positions


def _arguments(positions: list[Word], word: Word, known: Known) -> tuple[str, list[Candidate]]:
    tool = known.tools().get(positions[0].text)
    schema: Mapping[str, Any] = {} if tool is None else tool.input_schema
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    key, equals, value = word.raw.partition("=")
    if equals:
        return value, _values(value, resolve(properties.get(key), schema), schema, known)
    taken = {pair[0] for each in positions[1:] if (pair := each.key_and_value())}
    return key, _fitting(key, [f"{name}=" for name in properties if name not in taken], "argument")


def _values(typed: str, about: Mapping[str, Any], root: Mapping[str, Any], known: Known) -> list[Candidate]:
    if typed.startswith("$"):
        own = public(known.variables)
        first = sorted(own, key=lambda name: not may_stand(own[name], about, root))
        return _fitting(typed, [f"${name}" for name in first], "variable")
    found = _choices(about, root)
    if (kind := variable_class(about)) is not None:
        own = public(known.variables)
        return _fitting(typed, [name for name, value in own.items() if is_of(value, kind)], "variable")
    quoted = typed[:1] in {'"', "'"}
    return _fitting(typed, [_written(value, typed[0] if quoted else "") for value in found], "value")


def _choices(about: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> list[Any]:
    about = resolve(about, root)
    if isinstance(about.get("enum"), list):
        return list(about["enum"])
    if "const" in about:
        return [about["const"]]
    if about.get("type") == "boolean":
        return [True, False]
    found: list[Any] = []
    for key in ("anyOf", "oneOf"):
        for choice in about.get(key) or () if depth < 4 else ():
            found += _choices(choice, root, depth + 1)
    if not found and about.get("default") is not None:
        return [about["default"]]
    return found


def _written(value: Any, quote: str) -> str:
    """A value as it stands on a line."""
    text = value if isinstance(value, str) else json.dumps(value)
    if not isinstance(value, str):
        return text
    if quote or not re.fullmatch(r"[\w./:@%+,-]+", text):
        quote = quote or '"'
        return quote + (text.replace("\\", "\\\\").replace('"', '\\"') if quote == '"' else text) + quote
    return text


def _fitting(typed: str, words: Iterable[str], kind: str) -> list[Candidate]:
    begins = typed.casefold()
    return [Candidate(word, kind) for word in dict.fromkeys(words) if word and word.casefold().startswith(begins)]


class Matcher:
    """``complete`` as IPython's completer asks it."""

    matcher_api_version = 2
    matcher_identifier = "nbtoolkit"
    # Before IPython's own, which would offer files and Python names for the same words.
    matcher_priority = 1000

    def __init__(self, shell: InteractiveShell, get_toolkit: Callable[[], Toolkit]) -> None:
        self._shell = shell
        self._get_toolkit = get_toolkit
        self.__qualname__ = self.matcher_identifier

    def __call__(self, context: CompletionContext) -> SimpleMatcherResult:
        """Complete the line behind the magic; anything else is left to the others."""
        from IPython.core.completer import SimpleCompletion

        match = _LINE.fullmatch(context.text_until_cursor)
        if match is None:
            return {"completions": [], "suppress": False}
        known = Known(self._get_toolkit(), self._shell.user_ns)
        fragment, candidates = complete(match[2], known, cell=match[1] == "%%")
        if not candidates and is_known(match[2]):
            # IPython asks its other completers where this one has nothing: the word as it stands keeps them out.
            candidates = [Candidate(fragment, "word")]
        return {
            "completions": [SimpleCompletion(each.text, type=each.kind) for each in candidates],
            "matched_fragment": fragment,
            "suppress": bool(candidates),
            "ordered": True,
        }

"""``%toolkit`` and ``%%toolkit``: the line is read into a Command and done by the action of its name.

It promises: the line reaches the command as it was typed (IPython expands no braces in it); a mistake is one line and
fails the cell; calls behave the same in sync and async cells, loops, functions and under %%time; where no magic can
stand, inside an expression, the error says what to write instead.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from nbtoolkit.mcp import failure
from nbtoolkit.notebook import (
    cassettes,
    chat,
    logs,
    offers,
    permissions,
    questions,
    scheduling,
    servers,
    serving,
    skills,
)
from nbtoolkit.notebook.actions import ACTIONS
from nbtoolkit.notebook.attaching import restart_hint
from nbtoolkit.notebook.command import CommandError, parse
from nbtoolkit.notebook.completion import Matcher
from nbtoolkit.notebook.grammar import SPECS
from nbtoolkit.notebook.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["ToolkitMagics", "register", "unregister"]

# These enter their subcommands into the table when they are imported.
_HOLDERS = (cassettes, chat, logs, offers, permissions, questions, servers, serving, skills)
_MAGIC = re.compile(r"%%?toolkit\b")
# What IPython makes of a line behind `!`.
_SHELLED = re.compile(r"\bget_ipython\(\)\.(?:system|getoutput)\(['\"]\s*%{0,2}toolkit\b")


@magics_class
class ToolkitMagics(Magics):
    """The magic; ``get_toolkit`` is asked at each use."""

    def __init__(self, shell: InteractiveShell, get_toolkit: Callable[[], Toolkit]) -> None:
        super().__init__(shell)
        self._shell = shell
        self._get_toolkit = get_toolkit

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def toolkit(self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None) -> Any:
        """Tools, calls, servers and permission; ``%toolkit help`` lists what can stand behind it."""
        __tracebackhide__ = True
        command = parse(line, cell, SPECS)
        return ACTIONS[command.name](Session(self._shell, self._get_toolkit(), local_ns), command)


_stop_overtaking: Callable[[], None] | None = None


def register(shell: InteractiveShell, get_toolkit: Callable[[], Toolkit]) -> None:
    """Give a shell the magic, its completion and its hint; registering again replaces them."""
    global _stop_overtaking
    unregister(shell)
    shell.register_magics(ToolkitMagics(shell, get_toolkit))
    if shell.Completer is not None:
        shell.Completer.custom_matchers.append(Matcher(shell, get_toolkit))
    shell.input_transformers_post.append(no_magic_in_expressions)
    _stop_overtaking = scheduling.overtake(questions.overtaking)
    failure.restart_hint = restart_hint(get_toolkit)


def unregister(shell: InteractiveShell) -> None:
    """Take back what ``register`` gave."""
    global _stop_overtaking
    if _stop_overtaking is not None:
        _stop_overtaking()
        _stop_overtaking = None
    failure.restart_hint = failure.no_hint
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("toolkit", None)
    if shell.Completer is not None:
        matchers = shell.Completer.custom_matchers
        matchers[:] = [matcher for matcher in matchers if not isinstance(matcher, Matcher)]
    transformers = shell.input_transformers_post
    transformers[:] = [each for each in transformers if each is not no_magic_in_expressions]


def no_magic_in_expressions(lines: list[str]) -> list[str]:
    """Say what to write where ``%toolkit`` stands inside an expression; runs after IPython turned magics to Python."""
    if any(_SHELLED.search(line) for line in lines):
        raise CommandError("a line behind ! goes to the shell, which knows no toolkit; write %toolkit without the !")
    if any(_MAGIC.search(line) for line in lines):
        try:
            compile("".join(lines), "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            near = lines[(error.lineno or 1) - 1 : (error.end_lineno or error.lineno or 1)]
            if any(_MAGIC.search(line) for line in near):
                raise CommandError(
                    "%toolkit stands on a line of its own; inside an expression or an f-string write "
                    "toolkit.call_sync('NAME', key=value).value, or (await toolkit.call('NAME', key=value)).value"
                ) from None
    return lines

"""What a subcommand works with: the shell, the toolkit, the variables in reach, and a way to show something."""

from __future__ import annotations

import ast
import dis
import inspect
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtoolkit import hooks
from nbtoolkit.exception import MCPConnectionError, NBToolkitError
from nbtoolkit.notebook import tables
from nbtoolkit.notebook.attaching import attached, stored
from nbtoolkit.notebook.attaching import start as start_stored
from nbtoolkit.notebook.command import CommandError, nearest
from nbtoolkit.notebook.namespace import no_variable
from nbtoolkit.notebook.text import settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from nbtoolkit.mcp import MCPClient
    from nbtoolkit.tool.base import ToolBase
    from nbtoolkit.tool.group import ToolGroup
    from nbtoolkit.tool.toolkit import Toolkit

__all__ = ["Session", "mistakes", "one_of", "result_is_used"]


# Names that one line can hold; who needs the others lists them.
MAX_LISTED = 12


@contextmanager
def mistakes() -> Iterator[None]:
    """Turn what the toolkit raises for a wrong word into the one line that a person reads."""
    try:
        yield
    except CommandError:
        raise
    except KeyError as error:
        raise CommandError(str(error.args[0]) if error.args else "not found") from None
    except MCPConnectionError as error:
        said, _, tail = str(error).partition("\n")
        raise CommandError(said, tail) from None
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        raise CommandError(settled(said) or type(error).__name__) from None
    except (NBToolkitError, ValueError, TypeError, LookupError) as error:
        # What a model can mend begins with its class, which the line has already.
        said = str(error).removeprefix(f"{type(error).__name__}: ")
        raise CommandError(said or type(error).__name__) from None


def one_of(word: str, known: Iterable[str], what: str) -> str:
    """The word, if it is one of those that are known; else an error with the nearest, or all of them."""
    names = list(dict.fromkeys(map(str, known)))
    if word in names:
        return word
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    listed = f"; there is {', '.join(names[:MAX_LISTED])}{more}" if names else f"; there is no {what} yet"
    raise CommandError(f"no {what} is called {word!r}{nearest(word, names) or listed}")


class Session:
    """One run of the magic. ``local`` holds the variables of the function that it stands in, if any."""

    def __init__(self, shell: InteractiveShell, toolkit: Toolkit, local: Mapping[str, Any] | None = None) -> None:
        self.shell = shell
        self.toolkit = toolkit
        self.local = local

    # ------------------------------------------------------------------ output
    def show(self, bundle: Mapping[str, str]) -> None:
        """Show a mime bundle."""
        from IPython.display import display

        display(dict(bundle), raw=True)  # type: ignore[no-untyped-call]

    def say(self, text: str) -> None:
        """Show one line."""
        self.show(tables.message(text))

    # ------------------------------------------------------------------ the notebook's Python
    def evaluate(self, source: str, *, or_text: bool = True) -> Any:
        """The value of an expression, as if it stood where the magic stands; ``or_text`` says that a text may stand there."""
        try:
            code = compile(source.strip(), "<%toolkit>", "eval")
        except SyntaxError:
            if not or_text:
                raise CommandError(f"{source!r} is no Python expression") from None
            raise CommandError(
                f"{source!r} is neither JSON (its keys and texts need double quotes) nor a Python expression; "
                "put quotes around it to pass it as a text"
            ) from None
        namespace = self.shell.user_ns
        if self.local is not None and self.local is not namespace:
            # One dict: inside a comprehension an expression sees its globals only.
            namespace = {**namespace, **self.local}
        try:
            return eval(code, namespace)  # noqa: S307 - the cell's own code
        except NameError as error:
            raise no_variable(error.name or source, namespace) from None
        except Exception as error:  # noqa: BLE001 - whatever the expression raises is said in one line
            raise CommandError(f"{source} raised {type(error).__name__}: {error}") from None

    def run(self, source: str) -> list[str]:
        """Run a cell's code as the cell itself would be run; gives the names of the functions that it defines."""
        __tracebackhide__ = True
        shell = self.shell
        transformed = shell.transform_cell(source)  # type: ignore[no-untyped-call]
        # One line further down, as in the cell: its first line is the magic.
        text = "\n" + transformed
        name = shell.compile.cache(text, shell.displayhook.prompt_count, raw_code=source)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        with shell.compile.extra_flags(flags):
            try:
                parsed = shell.compile.ast_parse(text, filename=name)
            except SyntaxError as error:
                # IPython would show its own frames between the cell and the place.
                at = f"line {error.lineno}" if error.lineno else "the cell"
                typed = (error.text or "").rstrip("\n")
                mark = " " * ((error.offset or 1) - 1) + "^"
                raise CommandError(f"{at} of the cell is no Python: {error.msg}", f"{typed}\n{mark}") from None
            tree = shell.transform_ast(parsed)  # type: ignore[no-untyped-call]
            for node in tree.body:
                # The last expression is displayed as the cell's result.
                shown = node is tree.body[-1] and isinstance(node, ast.Expr)
                unit = ast.Interactive([node]) if shown else ast.Module([node], [])
                code = shell.compile(unit, name, "single" if shown else "exec")  # type: ignore[arg-type]
                if code.co_flags & inspect.CO_COROUTINE:
                    hooks.drive(eval(code, shell.user_ns))  # noqa: S307 - the cell's own code
                else:
                    exec(code, shell.user_ns)  # noqa: S102 - the cell's own code
        return _functions(tree.body)

    def keep(self, value: object) -> None:
        """Put a value where the notebook keeps results: ``_`` and ``Out``."""
        self.shell.displayhook.update_user_ns(value)  # type: ignore[no-untyped-call]

    # ------------------------------------------------------------------ looking up
    def tools(self) -> list[tuple[ToolGroup, ToolBase]]:
        """Every tool with its group."""
        return self.toolkit.all_tools_sync()

    def tool(self, name: str) -> tuple[ToolGroup, ToolBase]:
        """The tool of that name and its group, switched on or not."""
        tools = self.tools()
        if all(tool.name != name for _, tool in tools):
            with mistakes():
                server = next((each for each in stored(self.toolkit) if name.startswith(f"mcp__{each}__")), None)
                if server is not None:
                    start_stored(self.toolkit, server)
                    tools = self.tools()
        one_of(name, (tool.name for _, tool in tools), "tool")
        return next((group, tool) for group, tool in tools if tool.name == name)

    def group(self, name: str) -> ToolGroup:
        """The group of that name."""
        groups = {group.name: group for group in self.toolkit.tool_groups}
        return groups[one_of(name, groups, "tool group")]

    def server(self, name: str, *, start: bool = True) -> MCPClient:
        """The MCP server of that name; with ``start`` one that a rules' file names is attached by its first use."""
        servers = attached(self.toolkit)
        with mistakes():
            waiting = stored(self.toolkit)
            found = one_of(name, [*servers, *waiting], "MCP server")
            if found in servers:
                return servers[found]
            if not start:
                raise CommandError(f"the MCP server {found!r} isn't started; %toolkit mcp tools {found} starts it")
            return start_stored(self.toolkit, found)


def _functions(body: Iterable[ast.stmt]) -> list[str]:
    """The functions that statements define at their own level, also under if, for, with and try."""
    names: list[str] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif not isinstance(node, ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                names += _functions(getattr(node, part, ()))
            for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                names += _functions(branch.body)
    return list(dict.fromkeys(names))


def result_is_used() -> bool:
    """Whether the running magic's result goes anywhere: ``r = %toolkit …``, and not a line of its own.

    A line of its own must give None, or the notebook would show it a second time and put it in ``_``.
    """
    frame = sys._getframe()  # noqa: SLF001 - the one way to the caller's frame
    while frame.f_code.co_name not in {"run_line_magic", "run_cell_magic"}:
        if frame.f_back is None:
            return False
        frame = frame.f_back
    caller = frame.f_back
    if caller is None:
        return False
    later = (step for step in dis.get_instructions(caller.f_code) if step.offset > caller.f_lasti)
    step = next((step for step in later if step.opname != "CACHE"), None)
    # 3.11 prints a cell's last expression by an instruction of its own, later ones by intrinsic number 1.
    printed = step is not None and step.opname == "CALL_INTRINSIC_1" and step.arg == 1
    return step is not None and step.opname not in {"POP_TOP", "PRINT_EXPR"} and not printed

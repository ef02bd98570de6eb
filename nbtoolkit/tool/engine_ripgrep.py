"""The search engine: ripgrep from its wheel or the system, run without its settings."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from typing import IO, TYPE_CHECKING

from nbtoolkit.tool import disk
from nbtoolkit.tool.engine import BINARY, LINE_BREAK, base_glob, no_expression
from nbtoolkit.tool.engine_talk import Talk
from nbtoolkit.tool.faults import FileFault, of_system, shown
from nbtoolkit.tool.globbing import alternatives, glob_expression, name_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtoolkit.tool.engine import Engine, Found, Query, Stopper

__all__ = ["RipgrepEngine", "engine", "ripgrep"]

# A file of more bytes isn't held in memory as a whole, as an expression over several lines wants it; nor are longer lines,
# where they take more memory than a search may.
LARGEST_WHOLE = 64 * 1024 * 1024
MOST_MEMORY = 1 << 30
# More output than this is nothing that anybody reads; the search ends there. Names, and lines, which take more to hold.
LARGEST_OUTPUT = 64 * 1024 * 1024
LARGEST_CONTENT = 16 * 1024 * 1024
READ_SIZE = 1 << 16
# Of what the program says beside its output: enough for any fault, or for every path that it passes over.
LARGEST_TALK = 100_000
LARGEST_TRACE = 16 * 1024 * 1024


@lru_cache(maxsize=1)
def ripgrep() -> str | None:
    """The ripgrep to run: the wheel's, beside this Python, else the system's."""
    name = "rg.exe" if os.name == "nt" else "rg"
    beside = os.path.join(os.path.dirname(sys.executable), name)  # noqa: PTH118, PTH120
    return beside if os.access(beside, os.X_OK) else shutil.which("rg")


def engine() -> Engine:
    """ripgrep, or its stand-in."""
    program = ripgrep()
    if program is not None:
        return RipgrepEngine(program)
    from nbtoolkit.tool.engine_python import PythonEngine

    return PythonEngine()


class RipgrepEngine:
    """ripgrep as a subprocess."""

    def __init__(self, program: str) -> None:
        self._program = program

    def files(self, query: Query, stopper: Stopper) -> Iterator[str]:
        """All files; a name's glob that isn't about folders is ripgrep's to look at, unless it is quicker here."""
        name = base_glob(query.name_glob)
        arguments = [*self._common(query), *_threads(), "--files", "--null"]
        fits, ending, most = None, "", LARGEST_OUTPUT
        if name and name != "*":
            # Nearly all globs end in letters, which tell most names apart at once, and while ripgrep goes on.
            ending = _LETTERS.search(name)[0]  # type: ignore[index]
            if ending or stopper.telling:
                fits = glob_expression(name, anchored=False).match
                # What doesn't fit is let go; time bounds the search.
                most = sys.maxsize
            else:
                arguments += _named(name)
        rest = b""
        for piece in self._stream([*arguments, "--", "./"], query, stopper, most=most):
            whole, zero, rest = (rest + piece).rpartition(b"\0")
            names = _names(whole + zero)
            yield from names if fits is None else [each for each in names if each.endswith(ending) and fits(each)]

    def tells(self, query: Query) -> bool:
        """Where it passes over nothing but what is ignored or sensitive: each such path is a line of its trace."""
        return not query.type and query.only is None and _wanted(query) is None and _traces(self._program)

    def skipped(self, query: Query, stopper: Stopper) -> list[str]:
        """Those that the settings of every other search leave out, and none else."""
        names = [each for each in query.places.skipped_names(query.root) if each != ".git"]
        braced, others = _braced(names)
        # A folder that can't be looked into is told by the search itself.
        arguments = [self._program, "--no-config", "--no-messages", "--hidden", "--no-require-git", "--no-ignore-dot"]
        arguments += ["--no-ignore-global", "--no-ignore-exclude"]
        if query.depth is not None:
            arguments.append(f"--max-depth={query.depth}")
        # A glob names a folder, not what is in it; the last that fits decides.
        arguments += [f"--iglob={each}{below}" for each in (braced, *others) if each for below in ("", "/**")]
        found = _names(
            self._run([*arguments, *_threads(), "--glob=!.git", "--files", "--null", "--", "./"], query, stopper)
        )
        return list(dict.fromkeys(query.places.skipped_part(query.root, each) for each in found))

    def grep(self, query: Query, stopper: Stopper) -> Found:
        """Matches by file."""
        arguments = self._common(query)
        wanted = _wanted(query)
        if wanted and not query.type:
            arguments += _named(wanted)
        arguments += ["--null", "--no-heading", "--color=never", "--no-messages"]
        if query.ignore_case:
            arguments.append("--ignore-case")
        if query.multiline:
            arguments += ["--multiline", "--multiline-dotall", *_SMALLER]
        if query.type:
            arguments.append(f"--type={query.type}")
        if query.mode == "files_with_matches":
            arguments.append("--files-with-matches")
        elif query.mode == "count" and not query.multiline:
            arguments += ["--count", "--with-filename"]
        elif query.mode == "count":
            # Left to itself it counts lines for one expression and matches for another.
            arguments += ["--with-filename", "--line-number"]
        else:
            arguments += ["--with-filename", "--line-number" if query.numbers else "--no-line-number"]
            arguments += [f"--before-context={query.before}", f"--after-context={query.after}"]
        found = self._found([*arguments, "--regexp", query.pattern, "--"], query, stopper)
        if query.glob and (query.type or _wanted(query) is None):
            fits = name_filter(query.glob)
            found = [each for each in found if fits(each[0])]
        return found

    def _found(self, arguments: list[str], query: Query, stopper: Stopper) -> Found:
        """What it finds: once more without the large files, where one of them takes too much memory."""
        if query.only is not None:
            with disk.opened(path := os.path.join(query.root, query.only), "searched") as file:  # noqa: PTH118
                if query.multiline and os.fstat(file.fileno()).st_size > LARGEST_WHOLE:
                    raise FileFault(f"{shown(path)} {_TOO_LARGE}. Set multiline to false, or use Bash.")
                output = self._run([*arguments, "-"], query, stopper, file)
                if stopper.no_memory:
                    raise FileFault(f"{shown(path)} has lines that are too long to be held in memory. Use Bash.")
                if _BINARY_MATCH.search(output):
                    stopper.remarks.append(BINARY.format(shown(path)))
                return _by_file(output, query)
        output = self._run([*arguments, "./"], query, stopper)
        if stopper.no_memory and not query.multiline:
            stopper.no_memory = False
            output = self._run([arguments[0], *_SMALLER, *arguments[1:], "./"], query, stopper)
        return _by_file(output, query)

    def _common(self, query: Query) -> list[str]:
        """Settings that make every ripgrep answer alike, and leave out what is sensitive."""
        arguments = [
            self._program,
            "--no-config",
            "--hidden",
            "--no-require-git",
            "--no-ignore-dot",
            "--no-ignore-global",
        ]
        arguments += ["--no-ignore-exclude", "--glob=!.git"]
        if query.depth is not None:
            arguments.append(f"--max-depth={query.depth}")
        braced, others = _braced(query.places.skipped_names(query.root))
        arguments += [f"--iglob=!{each}" for each in (braced, *others) if each]
        return arguments

    def _run(self, arguments: list[str], query: Query, stopper: Stopper, file: IO[bytes] | None = None) -> bytes:
        return b"".join(self._stream(arguments, query, stopper, file))

    def _stream(
        self,
        arguments: list[str],
        query: Query,
        stopper: Stopper,
        file: IO[bytes] | None = None,
        most: int = LARGEST_OUTPUT,
    ) -> Iterator[bytes]:
        """The program's output as it comes; what it has to say beside it is looked at when it has ended."""
        smaller = _SMALLER[0] in arguments
        if stopper.telling or (smaller and _traces(self._program)):
            arguments.insert(1, "--debug")
        env = {key: value for key, value in os.environ.items() if key != "RIPGREP_CONFIG_PATH"}
        try:
            # The folder that was judged, held open: its name may have come to mean another.
            with disk.held(query.root) as holder:
                process = subprocess.Popen(  # noqa: S603 - no shell: each argument is one
                    arguments,
                    cwd=holder.path(),
                    env=env,
                    stdin=file or subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
        except OSError as fault:
            raise of_system(query.root, "searched", fault) from None
        _restrain(process.pid)
        timer = stopper.watch(process)
        talk = Talk(process, LARGEST_TRACE if stopper.telling or smaller else LARGEST_TALK)
        size = 0
        if query.pattern and query.mode == "content":
            most = LARGEST_CONTENT
        try:
            assert process.stdout is not None
            while piece := os.read(process.stdout.fileno(), READ_SIZE):
                size += len(piece)
                yield piece
                if size >= most:
                    process.kill()
                    stopper.ended = f"it had found {most // 2**20} MB"
                    break
            code = process.wait()
            talk.join(2.0)
        finally:
            timer.cancel()
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if stopper.telling and not stopper.stopped and stopper.ended is None and talk.whole:
            stopper.skipped = talk.passed_over(query)
        stopper.no_memory = talk.no_memory()
        if smaller and query.only is None and (names := talk.too_large()):
            more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
            stopper.remarks.append(f"not searched, as too large to be held in memory: {', '.join(names[:5])}{more}")
        said = talk.complaint()
        if code == 2 and not size and said:
            raise FileFault(_fault(said, query))


# Takes a line of its own in content mode, where others have a name before them.
_BINARY_MATCH = re.compile(rb"^[^\0\n]*binary file matches \(found ", re.MULTILINE)
_SMALLER = [f"--max-filesize={LARGEST_WHOLE}"]
_TOO_LARGE = f"is larger than {LARGEST_WHOLE // 2**20} MB, so it isn't searched for matches over several lines"


def _restrain(pid: int) -> None:
    """Bound the memory of a process, where the system can from outside, and let it leave nothing where it dies of that."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        resource.prlimit(pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


_LETTERS = re.compile(r"[^*?\[\]{}\\]*\Z")


@lru_cache(maxsize=8)
def _traces(program: str) -> bool:
    """Whether this is a ripgrep whose trace is known to name what it passes over."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return False
    return said.stdout.startswith((b"ripgrep 13.", b"ripgrep 14."))


def _wanted(query: Query) -> str | None:
    """What a glob says about names alone, where it says no more."""
    glob = query.glob
    return None if not glob or glob == "*" or glob.startswith("!") or "/" in glob else glob


def _named(name: str) -> list[str]:
    """A type, not a glob: a glob would find ignored files too."""
    # It knows no braces within braces.
    added = [f"--type-add=nbtoolkit:{each}" for each in alternatives(name)]
    return [*added, "--type=nbtoolkit"]


@lru_cache(maxsize=1)
def _threads() -> list[str]:
    """On two cores the threads of a walk wait for each other longer than they walk."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["--threads=1"] if usable <= 2 else []


def _braced(names: Sequence[str]) -> tuple[str, list[str]]:
    """Names as one glob, which ripgrep holds against a path at once, and those that don't go into one."""
    plain: list[str] = []
    others: list[str] = []
    for name in names:
        (others if name.startswith("/") or any(sign in name for sign in "{},\\") else plain).append(name)
    return ("**/{" + ",".join(each.removeprefix("**/") for each in plain) + "}" if plain else ""), others


def _names(output: bytes) -> list[str]:
    """Names that each end in a NUL, without the root's ``./``."""
    return output.replace(b"\0./", b"\0").removeprefix(b"./").decode("utf-8", "surrogateescape").split("\0")[:-1]


def _fault(said: str, query: Query) -> str:
    """What ripgrep complains of, in this tool's words."""
    lines = [line.strip().removeprefix("rg: ") for line in said.splitlines() if line.strip()]
    if "unrecognized file type" in said:
        return f"{lines[-1]}. Use glob instead, like '*.py'."
    if r'literal "\n" is not allowed' in said:
        return LINE_BREAK
    why = next((line.removeprefix("error: ") for line in reversed(lines) if line.startswith("error: ")), "")
    if "regex parse error" in said:
        return no_expression(query.pattern, why)
    if "error parsing glob" in said:
        return f"{lines[0]}. To mean such a character itself, put it into brackets, like '[{{]'."
    if "regex exceeds size limit" in said or "too large" in said:
        return f"{query.pattern!r:.200} makes too large an expression. Give a smaller one: fewer repetitions, or plain text."
    return "the search can't run: " + " ".join(lines[:6])[:600]


def _by_file(output: bytes, query: Query) -> Found:
    """Ripgrep's output, taken apart by file; its order of files is by chance."""
    if query.mode == "files_with_matches":
        return [(query.only or name, _NO_LINES) for name in _names(output)]
    found: dict[bytes, list[str]] = {}
    current: list[str] | None = None
    gap = False
    for line in output.split(b"\n"):
        name, zero, rest = line.partition(b"\0")
        if not zero:
            gap = line == b"--"
            continue
        block = found.get(name)
        if block is None:
            block = found[name] = []
        elif gap and block is current:
            block.append("--")
        current, gap = block, False
        text = rest.decode("utf-8", "replace")
        block.append(text if query.mode == "count" else _line(text, query))
    if query.mode == "count" and query.multiline:
        found = {name: [str(len(block))] for name, block in found.items()}
    return [
        (query.only or name.removeprefix(b"./").decode("utf-8", "surrogateescape"), lines)
        for name, lines in found.items()
    ]


_NO_LINES: list[str] = []


def _line(rest: str, query: Query) -> str:
    rest = rest.rstrip("\r")
    if not query.numbers:
        return f":{rest}"
    at = 0
    while at < len(rest) and rest[at].isdigit():
        at += 1
    return f"{rest[at : at + 1]}{rest}"

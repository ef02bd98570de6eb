"""The places that any command's words name: sensitive ones whatever it does with them, others where rules are about files."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from nbtoolkit.permission.path_subject import READERS, WRITERS, PathSubject
from nbtoolkit.permission.programs import CODE
from nbtoolkit.permission.readonly import BELOW
from nbtoolkit.permission.shell_argument import UNKNOWN
from nbtoolkit.permission.shell_paths import PathJudge
from nbtoolkit.permission.subject import Effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.permission.shell_argument import Argument

__all__ = ["MAX_NAMED", "NamedJudge", "Programs"]

# Words of commands that aren't in the tables are looked at as paths; past so many nobody reads them either.
MAX_NAMED = 400

_PIECES = re.compile(r"[=:,@]")
# Short options in one word, the last of them with a path: -uo.bashrc.
_JOINED = re.compile(r"-[a-zA-Z]{2,}?(?=[./~]|nbtoolkit\.)")
_TOKENS = re.compile(r"[\w.~/-]{4,}")
# A look that costs little: only what could be sensitive by its name, or exists, is resolved.
_HINT = re.compile(
    r"(?:^|/)\.|^[~/]|(?:^|/)(?:id_|_netrc|kaggle|nbtoolkit|sitecustom|usercustom|rclone|authorized|ipython_|jupyter_|application_)|\.pth$|cassette",
    re.IGNORECASE,
)
_COPIERS = frozenset(
    {
        "tar",
        "zip",
        "rsync",
        "scp",
        "cp",
        "mv",
        "7z",
        "ag",
        "ack",
        "rclone",
        "aws",
        "gsutil",
        "gcloud",
        "rm",
        "chmod",
        "chown",
    }
)
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl"})
_VENV = frozenset({"venv", "virtualenv"})


class Programs(NamedTuple):
    """A command's program as it stands there, and the one that its wrappers run in the end."""

    outer: str
    inner: str


class NamedJudge(PathJudge):
    """Judges all the words of a command as paths that it may be about."""

    def named(
        self, args: Sequence[Argument], at: int, cwds: tuple[str, ...], judged: set[int], programs: Programs, kind: str
    ) -> list[PathSubject]:
        """What else the words name: sensitive places in any command, all paths where rules about files exist.

        ``kind``: of a command that only reads the other words are no paths; of a test they are; of another who knows.
        """
        found: list[PathSubject] = []
        unknown: Argument | None = None
        # To build from a folder, or to show it to a container, is what these are for; to copy out of one isn't.
        copied = any(each.static == "cp" for each in args[1:4])
        for index, argument in enumerate(args[:MAX_NAMED]):
            if id(argument) in judged or (index and args[index - 1].static in _VENV):
                # The folder that a virtual environment is made in may be called .env.
                continue
            for value in argument.values:
                if value.pattern is None and UNKNOWN not in value.text:
                    found += self.named_in(value.text, argument, at, cwds, programs, copied=copied)
                    continue
                if not argument.known:
                    unknown = unknown or argument
                hinted = _HINT.search(value.text) is not None or value.pattern is not None
                if hinted or value.text.strip(UNKNOWN):
                    subject = self.path(argument, "name", at, cwds, names=(*READERS, *WRITERS))
                    if subject is not None and (hinted or subject.safety is not None):
                        found.append(subject)
            # What the shell splits is several words.
            split = [piece for each in argument.guesses for piece in each.split()] if argument.splits else []
            for guess in dict.fromkeys((*argument.guesses, *split[:MAX_NAMED])):
                found += [each for each in self.named_in(guess, argument, at, cwds, programs) if each.safety]
        if kind == "read":
            return [each if each.safety else replace(each, effect=Effect.READ) for each in found]
        if kind == "test":
            return found
        if unknown is not None:
            # It may be the file that a rule about files names.
            found.append(
                PathSubject(kind="name", text=unknown.word.raw, within=at, tool_names=(*READERS, *WRITERS), exact=False)
            )
        return [each if each.safety else replace(each, effect=Effect.OTHER, why=None) for each in found]

    def named_in(
        self, text: str, argument: Argument, at: int, cwds: tuple[str, ...], programs: Programs, *, copied: bool = False
    ) -> list[PathSubject]:
        """The places that one text names: the worst of its pieces, itself else. ``copied``: what lies below goes along."""
        plain: list[PathSubject] = []
        for piece in dict.fromkeys(_pieces(text, code=programs.inner in CODE)):
            if not piece or len(piece) > 1000 or ("\n" in piece and piece is text):
                continue
            whole = piece is text and not text.startswith("-")
            what = self.places.could_match(piece) if programs.outer == "find" else None
            if what is not None:
                safety = f"it names {what} ({piece[:80]})"
                return [PathSubject(kind="name", text=argument.word.raw, safety=safety, within=at, exact=False)]
            copies = programs.outer in _COPIERS or (programs.outer in _CONTAINERS and copied)
            hinted = _HINT.search(piece) is not None
            exists = whole and not hinted and any(os.path.lexists(os.path.join(cwd, piece)) for cwd in cwds)  # noqa: PTH118
            if piece in (".", "..", "/"):
                if not copies:
                    continue
            elif not (hinted or exists) or (" " in piece and not exists):
                # Prose is no path; code was cut into tokens.
                continue
            subject = self.place(
                piece,
                "name",
                at,
                cwds,
                below=BELOW if copies else None,
                names=(*READERS, *WRITERS),
                raw=argument.word.raw,
            )
            if subject is None:
                continue
            if subject.safety is not None:
                return [subject]
            if whole and self.file_rules:
                plain = [subject]
        return plain


def _pieces(text: str, *, code: bool) -> list[str]:
    """A word and the paths that may stand in it: behind an option, a sign, in a program's text."""
    pieces = [text]
    if code and len(text) > 3 and not text.startswith("-"):
        pieces += [each for each in _TOKENS.findall(text) if _HINT.search(each)][:64]
    if text[:1] == "-" and text[:2] != "--":
        pieces.append(text[2:])
        joined = _JOINED.match(text)
        if joined is not None:
            pieces.append(text[joined.end() :])
    if _PIECES.search(text):
        pieces += _PIECES.split(text)
    return pieces

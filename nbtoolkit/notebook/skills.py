"""The subcommands of ``%toolkit skill``: add folders of skills, list what they hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nbtoolkit import hooks
from nbtoolkit.notebook import tables
from nbtoolkit.notebook.actions import action
from nbtoolkit.notebook.command import CommandError
from nbtoolkit.notebook.text import box, code, columns, count, one_line, safe, settled, table
from nbtoolkit.skill import SKILL_FILE, LocalSkillLoader, Skill, load_skills

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtoolkit.notebook.command import Command
    from nbtoolkit.notebook.session import Session

__all__: list[str] = []

# A description, as long as a table's cell is read.
LINE_LIMIT = 200


@action("skill add")
def add_skills(session: Session, command: Command) -> None:
    """Add the skill of a folder, or all below it, to the group basic."""
    folder = Path(command.words[0].expand(session.evaluate)).expanduser()
    if not folder.is_dir():
        raise CommandError(f"there is no folder {str(folder)!r} to load skills from")
    loader = LocalSkillLoader(folder, scan_subdir=command.has("--scan-subdir"))
    found = hooks.drive(loader.list_skills())
    if not found:
        hint = "" if loader.scan_subdir else "; with --scan-subdir the folders below it are looked at too"
        raise CommandError(f"the folder {str(folder)!r} holds no {SKILL_FILE}{hint}")
    sources = session.toolkit.group("basic").skills_or_loaders
    where = folder.resolve()
    # The same folder again takes the place of what it was.
    sources[:] = [
        each for each in sources if not (isinstance(each, LocalSkillLoader) and each.directory.resolve() == where)
    ]
    sources.append(loader)
    _show(session, found)


@action("skill list")
def list_skills(session: Session, command: Command) -> None:  # noqa: ARG001 - every action takes both
    """All skills, of groups that are off too."""
    sources = [each for group in session.toolkit.tool_groups for each in group.skills_or_loaders]
    _show(session, list(hooks.drive(load_skills(sources)).values()))


def _show(session: Session, skills: Sequence[Skill]) -> None:
    if not skills:
        session.show(tables.message("No skills yet: %toolkit skill add DIR."))
        return
    rows = [(skill.name, settled(one_line(skill.description, LINE_LIMIT))) for skill in skills]
    heading = count(len(rows), "skill")
    head = ["Skill", "What it is for"]
    markup = table(head, [[code(name), safe(text)] for name, text in rows])
    session.show(
        {
            "text/plain": f"{heading}\n{columns(head, [list(row) for row in rows], '  ')}",
            "text/html": box(f'<p style="margin:0"><b>{heading}</b></p>{markup}'),
        }
    )

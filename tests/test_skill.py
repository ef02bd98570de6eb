"""Skills: folders with a SKILL.md."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from nbtoolkit.message import ToolResultState
from nbtoolkit.skill import LocalSkillLoader, Skill, SkillLoaderBase
from nbtoolkit.tool.group import ToolGroup
from nbtoolkit.tool.toolkit import Toolkit


def make(folder: Path, name: str = "plots", description: str = "How we draw.", body: str = "# Plots\n") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}", encoding="utf-8")
    return folder


def skills(loader: SkillLoaderBase) -> list[Skill]:
    return asyncio.run(loader.list_skills())


def test_a_folder_is_read_with_its_front_matter_taken_off(tmp_path: Path) -> None:
    (skill,) = skills(LocalSkillLoader(make(tmp_path / "a")))
    assert (skill.name, skill.description, skill.markdown) == ("plots", "How we draw.", "# Plots\n")
    assert skill.dir == str(tmp_path / "a")


def test_a_byte_order_mark_and_crlf_do_not_hide_the_front_matter(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(
        b"\xef\xbb\xbf---\r\nname: a\r\ndescription: >\r\n  two\r\n  lines\r\n---\r\nbody\r\n"
    )
    (skill,) = skills(LocalSkillLoader(tmp_path))
    assert (skill.name, skill.description, skill.markdown) == ("a", "two lines", "body\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"no front matter", "doesn't begin with front matter"),
        (b"---\nname: a\nno end", "doesn't begin with front matter"),
        (b"---\nname: a\n---\n", "lacks description"),
        (b"---\n- a list\n---\n", "lacks name and description"),
        (b"---\nname: [\n---\n", "no YAML"),
        (b"---\nname: \xff\n---\n", "can't be read"),
        (b"---\n!!python/object/apply:os.system ['false']\n---\n", "no YAML"),
    ],
)
def test_a_broken_skill_costs_itself_with_a_warning(tmp_path: Path, text: bytes, said: str) -> None:
    make(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "SKILL.md").write_bytes(text)
    with pytest.warns(RuntimeWarning, match=said):
        assert [skill.name for skill in skills(LocalSkillLoader(tmp_path, scan_subdir=True))] == ["plots"]


def test_sub_folders_are_scanned_only_when_asked(tmp_path: Path) -> None:
    make(tmp_path / "b" / "deep", "deep")
    make(tmp_path / "a", "first")
    assert skills(LocalSkillLoader(tmp_path)) == []
    assert [skill.name for skill in skills(LocalSkillLoader(tmp_path, scan_subdir=True))] == ["first", "deep"]


def test_a_changed_skill_is_read_again(tmp_path: Path) -> None:
    loader = LocalSkillLoader(make(tmp_path))
    skills(loader)
    make(tmp_path, body="new")
    os.utime(tmp_path / "SKILL.md", (0, 0))
    assert skills(loader)[0].markdown == "new"


def test_the_viewer_appears_with_the_first_skill_and_reads_it(tmp_path: Path) -> None:
    assert asyncio.run(Toolkit().get_tool_schemas()) == []
    toolkit = Toolkit(skills_or_loaders=[str(make(tmp_path / "a"))])
    assert [s["function"]["name"] for s in toolkit.get_tool_schemas_sync()] == ["Skill"]
    response = toolkit.call_sync("Skill", skill="plots")
    assert response.state is ToolResultState.SUCCESS
    assert "# Plots" in response.text
    missing = toolkit.call_sync("Skill", skill="plot")
    assert missing.text == "SkillNotFoundError: Skill 'plot' not found. Did you mean 'plots'?"


def test_the_index_names_the_skills_of_active_groups(tmp_path: Path) -> None:
    extra = ToolGroup("extra", "Extra.", skills_or_loaders=[make(tmp_path / "b", "tables", "How we\n  tabulate.")])
    toolkit = Toolkit(skills_or_loaders=[tmp_path / "a"], tool_groups=[extra])
    make(tmp_path / "a")
    index = asyncio.run(toolkit.get_skill_instructions())
    assert "- plots: How we draw." in index
    assert "tables" not in index
    toolkit.activate("extra")
    assert "- tables: How we tabulate." in asyncio.run(toolkit.get_skill_instructions())


def test_a_folder_of_skills_may_be_given_whole(tmp_path: Path) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b", "tables")
    toolkit = Toolkit(skills_or_loaders=[tmp_path])
    index = asyncio.run(toolkit.get_skill_instructions())
    assert "plots" in index
    assert "tables" in index


def test_of_two_skills_with_one_name_the_first_counts_and_it_is_said(tmp_path: Path) -> None:
    toolkit = Toolkit(skills_or_loaders=[make(tmp_path / "a"), make(tmp_path / "b", body="other")])
    with pytest.warns(RuntimeWarning, match="two skills are called 'plots'"):
        assert "# Plots" in toolkit.call_sync("Skill", skill="plots").text

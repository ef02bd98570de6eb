"""Skills: folders with a SKILL.md."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from nbtoolkit.exception import ToolkitWarning
from nbtoolkit.message import ToolCallBlock, ToolResultState
from nbtoolkit.skill import LocalSkillLoader, Skill, SkillLoaderBase
from nbtoolkit.state import AgentState
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
    with pytest.warns(ToolkitWarning, match=said):
        assert [skill.name for skill in skills(LocalSkillLoader(tmp_path, scan_subdir=True))] == ["plots"]


def test_a_colon_in_a_description_does_no_harm(tmp_path: Path) -> None:
    front = "name: plots\ndescription: Use this when: somebody wants a plot # of data\nallowed-tools: [Read]"
    (tmp_path / "SKILL.md").write_text(f"---\n{front}\n---\nDraw it.\n")
    (skill,) = asyncio.run(LocalSkillLoader(tmp_path).list_skills())
    assert (skill.name, skill.markdown) == ("plots", "Draw it.\n")
    assert skill.description == "Use this when: somebody wants a plot # of data"


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
    with pytest.warns(ToolkitWarning, match="two skills are called 'plots'"):
        assert "# Plots" in toolkit.call_sync("Skill", skill="plots").text


def listed(toolkit: Toolkit, groups: list[str] | None = None) -> list[str]:
    return [schema["function"]["name"] for schema in toolkit.get_tool_schemas_sync(groups)]


def test_the_viewer_is_listed_while_there_is_a_skill_to_view(tmp_path: Path) -> None:
    extra = ToolGroup("extra", "Extra.", skills_or_loaders=[Skill("tables", "Tables.", "d", "# Tables")])
    toolkit = Toolkit(skills_or_loaders=[tmp_path], tool_groups=[extra])
    assert listed(toolkit) == ["reset_tools"]
    assert listed(toolkit, ["extra"]) == ["reset_tools", "Skill"]
    make(tmp_path / "a")
    assert listed(toolkit) == ["reset_tools", "Skill"]


def test_each_conversation_reads_the_skills_of_the_groups_that_it_switched_on() -> None:
    extra = ToolGroup("extra", "Extra.", skills_or_loaders=[Skill("tables", "Tables.", "d", "# Tables")])
    toolkit = Toolkit(skills_or_loaders=[Skill("plots", "Plots.", "d", "# Plots")], tool_groups=[extra])
    other = AgentState()
    other.tool_context.activated_groups.append("extra")

    def read(state: AgentState | None) -> str:
        block = ToolCallBlock(id="1", name="Skill", input='{"skill": "tables"}')
        return toolkit.call_tool_sync(block, state).text

    assert "# Tables" in read(other)
    assert "Skill 'tables' not found" in read(None)
    assert "tables" in asyncio.run(toolkit.get_skill_instructions(state=other))
    assert "tables" in asyncio.run(toolkit.get_skill_instructions(["extra"]))
    assert "tables" not in asyncio.run(toolkit.get_skill_instructions())


class Broken(SkillLoaderBase):
    """Gives what it was told to."""

    def __init__(self, given: object) -> None:
        self.given = given

    async def list_skills(self) -> list[Skill]:
        if isinstance(self.given, Exception):
            raise self.given
        return self.given  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (OSError("no network"), "the skills of Broken are left out: OSError: no network"),
        (None, "the skills of Broken are left out: TypeError"),
        (["plots"], "Broken gave something else than Skill objects"),
    ],
)
def test_a_loader_that_fails_costs_its_own_skills_with_a_warning(given: object, said: str) -> None:
    toolkit = Toolkit(skills_or_loaders=[Broken(given), Skill("plots", "Plots.", "d", "# Plots")])
    with pytest.warns(ToolkitWarning, match=said):
        assert listed(toolkit) == ["Skill"]
    with pytest.warns(ToolkitWarning, match=said):
        assert "- plots: Plots." in asyncio.run(toolkit.get_skill_instructions())


def test_linked_folders_are_followed_and_circles_end(tmp_path: Path) -> None:
    make(tmp_path / "shared" / "plots")
    skills_folder = tmp_path / "skills"
    make(skills_folder / "own", "tables")
    (skills_folder / "plots").symlink_to(tmp_path / "shared" / "plots")
    (skills_folder / "round").symlink_to(skills_folder)
    found = skills(LocalSkillLoader(skills_folder, scan_subdir=True))
    assert [(skill.name, skill.dir) for skill in found] == [
        ("tables", str(skills_folder / "own")),
        ("plots", str(skills_folder / "plots")),
    ]


def test_a_search_that_finds_no_end_is_cut_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nbtoolkit.skill.MAX_FOLDERS", 3)
    for name in "abcd":
        make(tmp_path / name, name)
    with pytest.warns(ToolkitWarning, match="only the first 3 folders below"):
        assert [skill.name for skill in skills(LocalSkillLoader(tmp_path, scan_subdir=True))] == ["a", "b"]


@pytest.mark.parametrize("wrong", [5, None, LocalSkillLoader])
def test_what_no_skill_can_come_from_is_refused_at_once(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"is no skill: expected a folder's path, a Skill or a SkillLoaderBase object"):
        Toolkit(skills_or_loaders=[wrong])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="is no skill"):
        ToolGroup("extra", "Extra.", skills_or_loaders=[wrong])  # type: ignore[list-item]


def test_one_folder_must_be_in_a_list() -> None:
    with pytest.raises(TypeError, match="'skills'; put it into a list"):
        Toolkit(skills_or_loaders="skills")


def test_two_skills_of_one_name_and_folder_are_told_of_unless_they_are_equal() -> None:
    first, second = Skill("plots", "Plots.", "d", "one"), Skill("plots", "Plots.", "d", "two")
    with pytest.warns(ToolkitWarning, match="two skills are called 'plots': the first counts"):
        assert "one" in Toolkit(skills_or_loaders=[first, second]).call_sync("Skill", skill="plots").text
    assert "one" in Toolkit(skills_or_loaders=[first, first]).call_sync("Skill", skill="plots").text

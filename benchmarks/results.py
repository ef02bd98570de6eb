"""The kept figures: a file of medians, spreads and ratios, and what is told of them.

A row comes from one run, and so do its ratios; rows of several runs stand beside each other. The tables of
``benchmarks/README.md`` and of the README, and the picture, are made of nothing else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "growth", "keep", "load", "short", "table", "targets", "write"]

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).with_name("results.json")
# How much more than the first case of its figure "the same" may be: what two rounds of one case differ by.
SAME = 1.5
_SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}
_ORDER = (
    "floor",
    "nbtoolkit",
    "agentscope",
    "pydantic_ai",
    "fastmcp",
    "langchain_core",
    "openai_agents",
    "strands",
)
# The rows that the README shows, by figure and case, and what they are called there.
_SHORT = {
    ("making", "lazy"): "register a documented function",
    ("listing", "again"): "list 1,000 schemas again",
    ("calling", "sync"): "call a function, sync",
    ("calling", "async"): "call a function, async",
    ("together", "async"): "1,000 calls at once",
    ("streaming", "1k"): "a chunk, in a stream of 1,000",
    ("streaming", "200k"): "a chunk, in a stream of 200,000",
}

Kept = dict[str, Any]


def load() -> Kept:
    """What is kept; empty where nothing is."""
    if not FILE.exists():
        return {"rows": {}, "versions": {}}
    kept: Kept = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def keep(rows: dict[str, Any], versions: dict[str, Any], order: list[str]) -> Kept:
    """Put rows in the place of those of the same case, in the order of the figures."""
    kept = load()
    held = {**kept["rows"], **rows}
    kept = {
        "versions": {**kept["versions"], **versions},
        "rows": {key: held[key] for key in dict.fromkeys([*order, *held]) if key in held},
    }
    FILE.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return kept


def names_of(kept: Kept) -> list[str]:
    """The subjects, the floor first."""
    return [name for name in _ORDER if name in kept["versions"]]


def cell(row: Kept, name: str) -> str:
    """A subject's median, its multiple of nbtoolkit's, and its spread."""
    value = row["values"].get(name)
    if value is None:
        return "–"
    text = f"{_number(value['median'])} {row['unit']}"
    if name not in {"floor", "nbtoolkit"} and "against_ours" in value:
        text += f" (×{_number(value['against_ours'], 2)})"
    return f"{text} ±{value['spread'] * 50:.0f}%"


def table(kept: Kept) -> str:
    """Every figure but the curves, as a Markdown table."""
    names = names_of(kept)
    rows = [row for row in kept["rows"].values() if row["figure"] not in {"growing", "page"}]
    return _markdown(["figure", *names], [[row["title"], *(cell(row, name) for name in names)] for row in rows])


def targets(kept: Kept) -> str:
    """Each target, what was measured, and whether it is met."""
    lines = []
    for row in kept["rows"].values():
        measured, limit = _measured(row, kept)
        if limit is None:
            continue
        said = "–" if measured is None else f"{measured:.2f}"
        verdict = "not measured" if measured is None else "**met**" if measured <= limit else "missed"
        lines.append([row["title"], row["target"], said, f"{limit:g}", verdict])
    return _markdown(["figure", "target", "measured", "limit", ""], lines)


def _measured(row: Kept, kept: Kept) -> tuple[float | None, float | None]:
    """What is to be compared, in the unit of the limit, and the limit."""
    ours = row["values"].get("nbtoolkit")
    target = row["target"]
    if found := re.fullmatch(r"≤ ([\d.]+) × floor", target):
        return None if ours is None else ours.get("against_floor"), float(found[1])
    if found := re.fullmatch(r"≤ ([\d.]+) (µs|ms|s)", target):
        scale = _SECONDS[row["unit"]] / _SECONDS[found[2]]
        return None if ours is None else ours["median"] * scale, float(found[1])
    if target == "the same":
        first = next(each for each in kept["rows"].values() if each["figure"] == row["figure"])
        base = first["values"].get("nbtoolkit")
        return None if ours is None or base is None else ours["median"] / base["median"], SAME
    return None, None


def growth(kept: Kept) -> str:
    """The curves: a line for each subject that has one, a column for each size."""
    lines: list[list[str]] = []
    for title, by_name in curves(kept).items():
        for name, points in by_name.items():
            told = ", ".join(f"{size:,}: {_number(value)} {unit}" for size, value, unit in points)
            first, last = points[0][1], points[-1][1]
            lines.append([title, name, told, f"×{_number(last / first, 2)}"])
    return _markdown(["what grows", "subject", "medians", "last ÷ first"], lines)


def curves(kept: Kept) -> dict[str, dict[str, list[tuple[int, float, str]]]]:
    """What grows → subject → (size, median, unit), where a subject has more than one size."""
    found: dict[str, dict[str, list[tuple[int, float, str]]]] = {}
    for row in kept["rows"].values():
        if row["figure"] not in {"growing", "page"}:
            continue
        title, _, size = row["title"].rpartition(": ")
        for name, value in row["values"].items():
            point = (int(size.replace(",", "")), value["median"], row["unit"])
            found.setdefault(title, {}).setdefault(name, []).append(point)
    return {
        title: {name: sorted(by_name[name]) for name in _ORDER if len(by_name.get(name, ())) > 1}
        for title, by_name in found.items()
    }


def short(kept: Kept) -> str:
    """The README's table: nbtoolkit, the floor, and from the quickest to the slowest of the others."""
    lines = []
    for (figure, case), title in _SHORT.items():
        row = kept["rows"].get(f"{figure}/{case}")
        if row is None or "nbtoolkit" not in row["values"]:
            continue
        values, unit = row["values"], row["unit"]
        ours = values["nbtoolkit"]
        peers = sorted((value["median"], name) for name, value in values.items() if name not in {"floor", "nbtoolkit"})
        floor = f"{_number(values['floor']['median'])} {unit}" if "floor" in values else "–"
        others = " … ".join(f"{_number(value)} {unit} ({name})" for value, name in dict.fromkeys((peers[0], peers[-1])))
        lines.append([title, f"{_number(ours['median'])} {unit}", floor, others])
    return _markdown(["", "nbtoolkit", "floor", "others, quickest … slowest"], lines)


def versions(kept: Kept) -> str:
    """A line for each subject."""
    lines = []
    for name in names_of(kept):
        told = ", ".join(f"{library} {version}" for library, version in kept["versions"][name].items())
        lines.append(f"- {name}: {told}")
    for row in kept["rows"].values():
        lines += [f"- {name}, {row['title']}: {why}" for name, why in row["missing"].items() if why != "no way to"]
    return "\n".join(lines)


def write(kept: Kept) -> None:
    """Put the tables in their places."""
    sections = [
        ("Targets", targets(kept)), ("Figures", table(kept)), ("Growth", growth(kept)), ("Versions", versions(kept))
    ]  # fmt: skip
    body = "\n\n".join(f"### {title}\n\n{text}" for title, text in sections)
    _between(Path(__file__).with_name("README.md"), "results", body)
    _between(ROOT / "README.md", "costs", short(kept))


def _between(path: Path, mark: str, body: str) -> None:
    text = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, found, rest = text.partition(begin)
    _, also, after = rest.partition(end)
    if found and also:
        path.write_text(f"{before}{begin}\n{body}\n{end}{after}", encoding="utf-8")


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _number(value: float, digits: int = 3) -> str:
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text or value >= 1000 else text

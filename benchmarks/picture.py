"""The picture of the README: what a call costs beside the others, and how costs grow. Made of the kept figures alone.

``python -m benchmarks.picture`` draws it anew.
"""

from __future__ import annotations

from typing import Any

from benchmarks import results

__all__ = ["draw"]

FILE = results.ROOT / "docs" / "costs.svg"
OURS, FLOOR, OTHERS = "#0b6e4f", "#6b7280", "#b8bec8"
# What the lower half shows, and the word for its axis.
_SHOWN = {
    "a call, by the number of tools": "tools",
    "a chunk, by the length of its stream": "chunks",
    "judging a command, by the number of rules": "rules",
    "a call, by the calls in the log": "calls in the log",
}


def draw(kept: Any) -> None:
    """Write the picture, where there are figures for it."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {
        "svg.hashsalt": "nbtoolkit", "svg.fonttype": "path", "font.size": 8, "axes.spines.top": False,
        "axes.spines.right": False, "axes.titlesize": 9, "axes.titlelocation": "left",
    }  # fmt: skip
    bars = [("calling/sync", "one call, µs"), ("together/async", "1,000 calls at once, ms")]
    bars = [(key, title) for key, title in bars if key in kept["rows"]]
    curves = results.curves(kept)
    shown = [title for title in _SHOWN if curves.get(title)]
    figure = plt.figure(figsize=(8.4, 4.6 if shown else 2.4), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.15, 1]) if shown else [figure, None]
    above, below = parts
    for axis, (key, title) in zip(_axes(above, len(bars)), bars, strict=True):
        _bars(axis, kept["rows"][key], title)
    for axis, title in zip(_axes(below, len(shown)), shown, strict=True):
        _lines(axis, curves[title], title)
    figure.savefig(FILE, metadata={"Date": None, "Creator": None}, facecolor="white")
    plt.close(figure)


def _axes(part: Any, count: int) -> Any:
    return part.subplots(1, count, squeeze=False)[0] if count else []


def _color(name: str) -> str:
    return {"nbtoolkit": OURS, "floor": FLOOR}.get(name, OTHERS)


def _bars(axis: Any, row: Any, title: str) -> None:
    values = sorted(((value["median"], name) for name, value in row["values"].items()), reverse=True)
    names = [name for _, name in values]
    axis.barh(names, [value for value, _ in values], color=[_color(name) for name in names], height=0.7)
    for place, (value, _) in enumerate(values):
        axis.text(value * 1.08, place, f"{value:,.3g}" if value < 1000 else f"{value:,.0f}", va="center", fontsize=7)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.set_xlim(left=1, right=max(value for value, _ in values) * 3)
    axis.set_title(title)
    axis.tick_params(length=2)


def _lines(axis: Any, by_name: Any, title: str) -> None:
    for name, points in by_name.items():
        # A logarithm has no place for nothing.
        sizes = [max(size, 1) for size, _, _ in points]
        front = name in {"nbtoolkit", "floor"}
        axis.plot(
            sizes,
            [value for _, value, _ in points],
            color=_color(name),
            linewidth=2 if name == "nbtoolkit" else 1,
            marker="o",
            markersize=3,
            zorder=3 if front else 2,
        )
        axis.annotate(name, (sizes[-1], points[-1][1]), fontsize=6, color=_color(name) if front else "#6b7280",
                      xytext=(3, 0), textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_title(f"{title.partition(',')[0]}, µs")
    axis.set_xlabel(_SHOWN[title])
    axis.tick_params(length=2)
    # Room above and below, so that what is flat looks flat.
    values = [value for points in by_name.values() for _, value, _ in points]
    axis.set_ylim(min(values) / 6, max(values) * 6)


if __name__ == "__main__":
    draw(results.load())

"""Runs the figures: every subject in a process of its own, their rounds interleaved, and prints one table.

``python -m benchmarks.run [--only FIGURE …] [--subjects NAME …] [--rounds N] [--keep]``. A value is the median of its rounds in CPU
time; a ratio is the median of the ratios within each round, so that what disturbs the machine disturbs both sides.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.figures import FIGURES
from benchmarks.peers import ENVIRONMENTS

ROOT = Path(__file__).parent.parent
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
ROUNDS = 25
# A case ends early when its rounds have taken so long; some peers need seconds for one.
CASE_SECONDS = 40.0
FEWEST = 2
_SCALE = {"µs": 1e6, "ms": 1e3}


class Worker:
    """A subject's process."""

    def __init__(self, name: str, python: Path) -> None:
        self.name = name
        # The same order of sets in all of them, and imports from compiled files, as people have them.
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        # The same ripgrep for all: the wheel's, which others look for on the PATH.
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.versions: dict[str, str] = self._read()["versions"]

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of {self.name} ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        # It may have trees of files to take away.
        self.process.wait(timeout=300)


@dataclass
class Row:
    """One case: the seconds of each round by subject, and why some have none."""

    figure: str
    case: str
    title: str
    target: str
    unit: str
    rounds: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def value(self, name: str) -> float:
        """The median, in the row's unit."""
        return statistics.median(self.rounds[name]) * _SCALE[self.unit]

    def ratio(self, name: str, base: str) -> float:
        """The median of the ratios within each round."""
        pairs = zip(self.rounds[name], self.rounds[base], strict=False)
        return statistics.median(one / max(other, 1e-9) for one, other in pairs)

    def spread(self, name: str) -> float:
        """The middle half of the rounds, as a share of the median."""
        rounds = self.rounds[name]
        if len(rounds) < FEWEST:
            return 0.0
        low, _, high = statistics.quantiles(rounds, n=4)
        return (high - low) / max(statistics.median(rounds), 1e-12)


def measure(workers: list[Worker], figure: str, case: str, rounds: int) -> Row:
    """All rounds of one case."""
    module = importlib.import_module(f"benchmarks.figures.{figure}")
    row = Row(figure, case, module.CASES[case], module.TARGETS[case], module.UNIT)
    able: list[Worker] = []
    for worker in workers:
        answer = worker.ask(prepare=[figure, case])
        if "ready" in answer:
            able.append(worker)
        else:
            row.missing[worker.name] = answer.get("cannot") or answer.get("failed", "")
    began = time.monotonic()
    for number in range(rounds):
        if number >= FEWEST and time.monotonic() - began > CASE_SECONDS:
            break
        # Another one first each time: none always follows the same neighbour.
        for worker in able[number % len(able) :] + able[: number % len(able)]:
            answer = worker.ask(round=True)
            if "seconds" in answer:
                row.rounds.setdefault(worker.name, []).append(answer["seconds"])
            else:
                row.missing[worker.name] = answer.get("failed", "")
    return row


def cell(row: Row, name: str) -> str:
    """A subject's value, its spread and its multiple of nbtoolkit's."""
    if name not in row.rounds:
        return "–"
    text = f"{row.value(name):.3g} {row.unit}"
    if name not in {"floor", "nbtoolkit"} and "nbtoolkit" in row.rounds:
        text += f" (×{row.ratio(name, 'nbtoolkit'):.2g})"
    return f"{text} ±{row.spread(name) * 50:.0f}%"


def table(rows: list[Row], names: list[str]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| figure | target | nbtoolkit ÷ floor | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for row in rows:
        both = {"floor", "nbtoolkit"} <= row.rounds.keys()
        ratio = f"{row.ratio('nbtoolkit', 'floor'):.2f}" if both else "–"
        lines.append(
            f"| {row.title} | {row.target} | {ratio} | " + " | ".join(cell(row, name) for name in names) + " |"
        )
    return "\n".join(lines)


def merged(held: str, report: str) -> str:
    """The report with the rows that are held already and weren't measured this time, in the place that they had."""
    old, new = held.splitlines(), report.splitlines()
    if not old or old[0] != new[0]:
        return report
    ends = [next((number for number, line in enumerate(each) if not line), len(each)) for each in (old, new)]
    fresh = {line.split("|")[1]: line for line in new[2 : ends[1]]}
    rows = [fresh.pop(line.split("|")[1], line) for line in old[2 : ends[0]]]
    return "\n".join([*new[:2], *rows, *fresh.values(), *new[ends[1] :]])


def main() -> None:
    """Measure what was asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(FIGURES), choices=FIGURES)
    parser.add_argument("--subjects", nargs="+", default=list(ENVIRONMENTS), choices=list(ENVIRONMENTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", action="store_true", help="put the rows into the table of benchmarks/README.md")
    options = parser.parse_args()
    workers: list[Worker] = []
    for name in options.subjects:
        python = ROOT / ENVIRONMENTS[name] / "bin" / "python"
        if not python.exists():
            sys.stderr.write(f"{name} is left out: {ENVIRONMENTS[name]} isn't there; `make bench` makes it\n")
            continue
        workers.append(Worker(name, python))
    names = [worker.name for worker in workers]
    rows: list[Row] = []
    for figure in options.only:
        for case in importlib.import_module(f"benchmarks.figures.{figure}").CASES:
            sys.stderr.write(f"{figure} {case}\n")
            rows.append(measure(workers, figure, case, options.rounds))
    lines = [table(rows, names), ""]
    for worker in workers:
        versions = ", ".join(f"{library} {version}" for library, version in worker.versions.items())
        lines.append(f"- {worker.name}: {versions}")
        worker.close()
    for row in rows:
        lines += [f"- {name}, {row.title}: {why}" for name, why in row.missing.items() if why != "no way to"]
    report = "\n".join(lines)
    sys.stdout.write(report + "\n")
    if options.keep:
        before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
        held, _, after = rest.partition(END)
        README.write_text(f"{before}{BEGIN}\n{merged(held.strip(), report)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

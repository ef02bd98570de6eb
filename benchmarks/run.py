"""Runs the figures: every subject in a process of its own, their rounds interleaved, and prints their tables.

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

from benchmarks import results
from benchmarks.figures import FIGURES
from benchmarks.peers import ENVIRONMENTS

ROOT = Path(__file__).parent.parent
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
        if not able:
            break
        # Another one first each time: none always follows the same neighbour.
        for worker in able[number % len(able) :] + able[: number % len(able)]:
            answer = worker.ask(round=True)
            if "seconds" in answer:
                row.rounds.setdefault(worker.name, []).append(answer["seconds"])
            else:
                row.missing[worker.name] = answer.get("failed", "")
    return row


def kept(row: Row) -> dict[str, Any]:
    """A row as it is kept: medians in the row's unit, spreads, and ratios within rounds."""
    values: dict[str, Any] = {}
    for name in row.rounds:
        values[name] = {"median": round(row.value(name), 6), "spread": round(row.spread(name), 4)}
        for base, key in (("floor", "against_floor"), ("nbtoolkit", "against_ours")):
            if base in row.rounds and base != name:
                values[name][key] = round(row.ratio(name, base), 4)
    return {
        "figure": row.figure,
        "title": row.title,
        "target": row.target,
        "unit": row.unit,
        "rounds": max(map(len, row.rounds.values()), default=0),
        "values": values,
        "missing": row.missing,
    }


def main() -> None:
    """Measure what was asked for and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(FIGURES), choices=FIGURES)
    parser.add_argument("--subjects", nargs="+", default=list(ENVIRONMENTS), choices=list(ENVIRONMENTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--keep", action="store_true", help="keep the rows, and tell of them in the READMEs and the picture"
    )
    options = parser.parse_args()
    workers: list[Worker] = []
    for name in options.subjects:
        python = ROOT / ENVIRONMENTS[name] / "bin" / "python"
        if not python.exists():
            sys.stderr.write(f"{name} is left out: {ENVIRONMENTS[name]} isn't there; `make bench` makes it\n")
            continue
        workers.append(Worker(name, python))
    rows: dict[str, Any] = {}
    order = []
    for figure in FIGURES:
        for case in importlib.import_module(f"benchmarks.figures.{figure}").CASES:
            order.append(f"{figure}/{case}")
            if figure in options.only:
                sys.stderr.write(f"{figure} {case}\n")
                rows[order[-1]] = kept(measure(workers, figure, case, options.rounds))
    versions = {worker.name: worker.versions for worker in workers}
    for worker in workers:
        worker.close()
    fresh = {"rows": rows, "versions": versions}
    for text in (results.targets(fresh), results.table(fresh), results.growth(fresh), results.versions(fresh)):
        sys.stdout.write(text + "\n\n")
    if options.keep:
        from benchmarks.picture import draw

        everything = results.keep(rows, versions, order)
        results.write(everything)
        draw(everything)


if __name__ == "__main__":
    main()

"""One subject in its own environment: prepares a case and times one round whenever it is asked to.

``python -m benchmarks.worker SUBJECT``; a request is a JSON line, ``{"prepare": [figure, case]}`` or ``{"round": true}``,
and so is its answer.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.metadata
import json
import platform
import sys
import warnings
from typing import Any

from benchmarks.figures import CantError


def main() -> None:
    """Answer until the input ends."""
    warnings.simplefilter("ignore")
    subject: Any = importlib.import_module(f"benchmarks.peers.of_{sys.argv[1]}")
    versions = {name: importlib.metadata.version(name) for name in subject.LIBRARIES}
    _answer({"versions": {**versions, "python": platform.python_version()}})
    timed: Any = None
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                if "prepare" in request:
                    figure, case = request["prepare"]
                    gc.unfreeze()
                    timed = importlib.import_module(f"benchmarks.figures.{figure}").prepare(subject, case, runner.run)
                    gc.collect()
                    gc.freeze()
                    _answer({"ready": True})
                else:
                    _answer({"seconds": timed()})
            except CantError as error:
                _answer({"cannot": str(error) or "no way to"})
            except Exception as error:  # noqa: BLE001 - one subject's failure must not end the run
                _answer({"failed": f"{type(error).__name__}: {error}"[:300]})


def _answer(value: dict[str, Any]) -> None:
    sys.__stdout__.write(json.dumps(value) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()

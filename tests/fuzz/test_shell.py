"""Lines of shell, in the long form: the fuzzer of the permission tests with many more of them, from another seed."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.fuzz import support

LINES = 12_000


@pytest.mark.skipif(not support.LONG, reason="tests/permission/test_shell_fuzz.py has the short slice")
def test_no_line_that_is_allowed_runs_what_nobody_named() -> None:
    seed = str(int(time.time()))
    environment = {**os.environ, "NBTOOLKIT_FUZZ": str(LINES), "NBTOOLKIT_FUZZ_SEED": seed}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    fuzzer = support.HERE.parent / "permission" / "test_shell_fuzz.py"
    done = subprocess.run(
        [*command, str(fuzzer)],
        env=environment,
        cwd=support.HERE.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"NBTOOLKIT_FUZZ_SEED={seed}\n{done.stdout[-8_000:]}"
    support.COUNTS["lines of shell"] += LINES

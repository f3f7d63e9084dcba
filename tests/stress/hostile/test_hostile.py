"""Play a few fixed attacks on each surface; `python -m tests.stress.hostile` plays more."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.stress
@pytest.mark.timeout(600)
def test_no_attack_of_a_few_falls() -> None:
    command = [sys.executable, "-m", "tests.stress.hostile", "--seed", "1", "--attacks", "3"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=590)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-2_000:]

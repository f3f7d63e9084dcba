"""Ctrl-C ends the program at once, also while the embedded model reads a prompt."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.command_line import Program


def test_an_interrupt_does_not_wait_for_the_embedded_model(program: Program, docs: Path) -> None:
    """A question of 7,000 characters takes half a minute to read on two cores."""
    question = "When does the tenant pay the monthly rent? " * 160
    with program.start(question, "--docs", str(docs)) as process:
        try:
            assert process.stderr is not None
            while not process.stderr.readline().startswith("indexed:"):
                pass
            time.sleep(8)  # the model is loaded, and reads the first prompt
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=15)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."

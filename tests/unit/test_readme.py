"""The README and the other documents say what is true of the code."""

import re
import subprocess
import sys
from pathlib import Path

from app.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_diagram_is_the_compiled_graph() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "app", "graph"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    drawn = re.search(r"```mermaid\n(.*?)```", README, re.DOTALL)
    assert drawn is not None
    assert drawn.group(1) == printed


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = re.search(r"Run the tests:\n\n```sh\n(.*?)\n```", README, re.DOTALL)
    assert command is not None
    assert command.group(1) in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_setting_is_explained_and_every_explained_setting_exists() -> None:
    explained = set(re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))
    assert explained == {name.upper() for name in Settings.model_fields}

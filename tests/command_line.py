"""The command line as a person calls it: in this process, or in one of its own where a test is about processes."""

import functools
import gc
import io
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import platformdirs

from app.cli import main
from models.embeddings import MiniLM

ROOT = Path(__file__).resolve().parents[1]
# The user's own cache, so that the models are fetched once and not for every run.
MODELS_FOLDER = Path(platformdirs.user_cache_dir("selfrag", appauthor=False)) / "models"
_loaded = functools.cache(MiniLM)


def load_once(model: Path, tokenizer: Path) -> MiniLM:
    """Return the embedding model, whichever home links to its files; each would take 100 MB."""
    return _loaded(model.resolve(), tokenizer.resolve())


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass
class Program:
    """The command line in a folder, with ``environment`` and no other variables."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(
        self, *arguments: str, environment: Mapping[str, str] | None = None, given: str | None = None
    ) -> Ended:
        """Run the command in this process, whose embedding model serves every call; ``given`` is its standard input."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
        with ExitStack() as changed:
            for change in (
                patch.dict(os.environ, {**self.environment, **(environment or {})}, clear=True),
                patch("models.embeddings.MiniLM", load_once),
                patch("sys.stdin", sys.stdin if given is None else io.StringIO(given)),
                chdir(self.folder),
                redirect_stdout(out),
                redirect_stderr(err),
                warnings.catch_warnings(),
            ):
                changed.enter_context(change)
            gc.freeze()  # only what the command leaves is to be looked through
            code = main(arguments)
            gc.collect()
            gc.unfreeze()
        return Ended(code, *(stream.detach().getvalue().decode() for stream in (out, err)))

    def process(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        seconds: float = 120,
        given: str | None = None,
    ) -> Ended:
        """Run the command in a process of its own; ``given`` is its standard input."""
        stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
        with self.start(*arguments, environment=environment, stdin=stdin) as process:
            try:
                out, err = process.communicate(given, timeout=seconds)
            finally:
                process.kill()
        return Ended(process.returncode, out, err)

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, stdin: int = subprocess.DEVNULL
    ) -> subprocess.Popen[str]:
        """Start the command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "app", *arguments],
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            # A shell that runs the tests in the background makes its children deaf to interrupts.
            preexec_fn=_hear_interrupts,
        )


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def new_program(home: Path, **environment: str) -> Program:
    """The command line with an empty home in ``home``, but for the user's own models, and an empty working folder."""
    (home / "home").mkdir(exist_ok=True)
    (home / "home" / "models").symlink_to(MODELS_FOLDER, target_is_directory=True)
    folder = home / "working folder"
    folder.mkdir()
    return Program(
        folder,
        {
            **{name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ},
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "PYTHON_DOTENV_DISABLED": "1",
            "SELFRAG_HOME": str(home / "home"),
            **environment,
        },
    )

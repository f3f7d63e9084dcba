"""The command line: what was asked for, and the exit code it ends with. Heavy imports wait until they are needed."""

import argparse
import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from textwrap import fill
from typing import NamedTuple, NoReturn

from app.commands import options as option_lists
from core.errors import RequestError, SelfRAGError
from core.text import clean

EPILOG = """commands:
  ask QUESTION  ask; needed only before a question that is a command's name
  chat          ask questions that follow each other; the thread is kept
  threads       list, show, rename, export or delete the threads that are kept
  index PATH    add files or folders to the library, and bring it up to date
  worker        read files that wait to be indexed into PostgreSQL
  check FILE    hold a text against the documents, claim by claim
  serve         serve a page, a JSON API, OpenAI's API and MCP on this machine
  mcp           serve an agent that starts this itself, on stdin and stdout
  eval DATASET  ask a question set through several systems, and score them
  compare       show Self-RAG and plain retrieve-and-generate side by side
  calibrate     fit the confidence to your model, your documents and your risk
  library       copy, back up or restore a library; export labels of answers
  pull          fetch the embedded models ahead of time
  graph         print or draw the graph

exit codes:
  0    an outcome was reached
  1    a claim failed with check --strict
  2    the request is wrong
  3    the model cannot be reached
  130  interrupted

"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. Errors are one sentence on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options: argparse.Namespace | None = None
    if isinstance(sys.stdout, io.TextIOWrapper):  # what its encoding has no character for is no reason to fail
        sys.stdout.reconfigure(errors="replace")
    try:
        options = parse(given)
        run = _command(options.command)
        with _log() if options.debug else nullcontext():
            return run(options)
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        _leave_if_serving()
        return 130
    except BrokenPipeError:
        # The reader left; Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in a sentence
        from app.terminal.screen import print_error

        if options is not None and options.debug:
            import traceback

            from models.redaction import Secrets

            print(Secrets().redacted(clean(traceback.format_exc())), end="", file=sys.stderr)
        if isinstance(error, SelfRAGError):
            print_error(str(error))
            return error.exit_code
        line = (str(error).splitlines() or [""])[0]
        print_error(f"{type(error).__name__}: {line} (run with --debug for the details)")
        return 1


@contextmanager
def _log() -> Iterator[None]:
    """Send what the program logs to stderr: nodes, calls and syncs, never a text of a document or a secret."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("selfrag")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


def _leave_if_serving() -> None:
    """End the process here if it serves the embedded model, which can be stopped between two batches of tokens only.

    Nothing is lost with it: what was opened is closed by now, and the server keeps nothing that cannot be read anew.
    """
    embedded = sys.modules.get("models.embedded")
    if embedded and embedded.is_serving():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)


def parse(given: Sequence[str]) -> argparse.Namespace:
    """The options of one command; a first word that is no command's name begins a question."""
    first = next((word for word in given if not word.startswith("-")), None)
    named = first in PARSERS and given and given[0] == first
    command = str(first) if named else "ask"
    rest = list(given[1:]) if named else list(given)
    return PARSERS[command]().parse_args(rest, argparse.Namespace(command=command))


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence, as every other error is."""

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message}; see {self.prog} --help.")

    def format_help(self) -> str:
        """List all options but those of groups with a title, which --help-all lists too."""
        groups = self._action_groups
        self._action_groups = groups[:2]
        try:
            return super().format_help()
        finally:
            self._action_groups = groups


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        parser._print_message(argparse.ArgumentParser.format_help(parser), sys.stdout)
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap each line by itself, in a table under the beginning of its second column."""
        gaps = [(line, re.match(r" +\S.*?  +", line)) for line in text.splitlines()]
        return "\n".join(fill(line, width, subsequent_indent=" " * (gap.end() if gap else 0)) for line, gap in gaps)


class Command(NamedTuple):
    """The help of a command of the module of its name; ``usage`` where it takes more than options."""

    description: str
    example: str
    usage: str = ""


COMMANDS = {
    "ask": Command(
        "Ask your documents a question: an answer with its evidence, or an honest no.",
        '"How long is the notice period?" --docs lease.pdf',
        usage='[ask] "QUESTION" [options]\n       python -m app COMMAND [options]',
    ),
    "chat": Command(
        "Ask questions that follow each other, a line each. The thread is kept; /help lists its commands.",
        "chat --docs lease.pdf",
    ),
    "threads": Command(
        "The threads that are kept, of chat and of the page of a server without tokens.",
        "threads export 3f2a answers.md",
        usage="threads [ACTION] [options]",
    ),
    "index": Command(
        "Add files or folders to the library, and bring everything in it in step with the disk.",
        "index ~/contracts notes.md --exclude '*draft*'",
        usage="index [PATH ...] [options]",
    ),
    "worker": Command(
        "Read the files that wait to be indexed into a library in PostgreSQL, beside other machines, until a signal.",
        "worker --once",
    ),
    "check": Command(
        "Hold a text that somebody wrote against the documents: each claim with its verdict, quote and source. "
        "What was checked before is not checked again.",
        "check draft.md --docs contracts/ --strict",
        usage="check FILE [options]",
    ),
    "serve": Command(
        "Serve a page, a JSON API, OpenAI's API and MCP over your library. Only this machine reaches them, unless "
        "SELFRAG_TOKENS_FILE names the tokens of those who may.",
        "serve --open",
    ),
    "mcp": Command(
        "Serve the Model Context Protocol on stdin and stdout: an agent starts this command and asks your documents.",
        "mcp --docs lease.pdf",
    ),
    "eval": Command(
        "Ask a question set through several systems, score what they say, and write tables and a report. "
        "What was asked before is not asked again.",
        "eval questions.jsonl --docs contracts/ --most 50",
        usage="eval DATASET [options]",
    ),
    "compare": Command(
        "Show the answers of Self-RAG and of plain retrieve-and-generate side by side, what each read and cost, and "
        "which the chat model prefers. What was asked before is not asked again.",
        'compare "How long is the notice period?" --docs lease.pdf',
        usage='compare "QUESTION" [options]\n       python -m app compare --set FILE [options]',
    ),
    "calibrate": Command(
        "Fit the confidence of answers, and the cut below which none is given, on labelled questions about your "
        "documents. What was asked before is not asked again.",
        "calibrate labels.jsonl --risk 0.1",
        usage="calibrate [LABELS] [options]",
    ),
    "library": Command(
        "Copy, save and restore a library and what is kept beside it.",
        "library backup selfrag.zip",
        usage="library ACTION [options]",
    ),
    "pull": Command("Fetch the embedded models, for a machine without a network.", "pull"),
    "graph": Command("Print the compiled graph as Mermaid text, or draw it.", "graph --output graph.svg"),
}


def _parser(name: str) -> argparse.ArgumentParser:
    """Make the parser of a command."""
    description, example, usage = COMMANDS[name]
    parser = _Parser(
        prog="python -m app",
        usage=f"python -m app {usage or f'{name} [options]'}",
        description=description,
        epilog=f"{EPILOG if name == 'ask' else ''}example:\n  python -m app {example}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    add_options: Callable[[argparse.ArgumentParser], object] | None = getattr(option_lists, f"add_{name}", None)
    if add_options:
        add_options(parser)
    parser.add_argument("--quiet", action="store_true", help="print no trace, no notes, only the result")
    parser.add_argument("--debug", action="store_true", help="show the log, and a traceback if something fails")
    if len(parser._action_groups) > 2:
        parser.add_argument("--help-all", action=_HelpAll, nargs=0, help="list all options, and exit")
    return parser


PARSERS = {name: partial(_parser, name) for name in COMMANDS}


def _command(name: str) -> Callable[[argparse.Namespace], int]:
    """Import the function of a command, and no other's."""
    module = import_module(f".commands.{name}", __package__)
    found: Callable[[argparse.Namespace], int] = getattr(module, "evaluate" if name == "eval" else name)
    return found

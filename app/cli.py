"""The command line: parse the arguments, run the command, return its exit code. Heavy imports wait until needed."""

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. Errors are one sentence on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options: argparse.Namespace | None = None
    if isinstance(sys.stdout, io.TextIOWrapper):  # a character that its encoding lacks is no reason to fail
        sys.stdout.reconfigure(errors="replace")
    try:
        options = parse_options(given)
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
    except Exception as error:  # noqa: BLE001 - any error is reported in one sentence
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
    """End the process at once if it runs the embedded model, which would otherwise finish its batch of tokens first.

    Nothing is lost: files are closed by now, and the model's server keeps nothing that cannot be computed again.
    """
    embedded = sys.modules.get("models.embedded")
    if embedded and embedded.is_serving():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)


def parse_options(given: Sequence[str]) -> argparse.Namespace:
    """Return the options of one command; if the first word is no command, the words are a question."""
    named = bool(given) and given[0] in PARSERS
    command = given[0] if named else "ask"
    return PARSERS[command]().parse_args(given[1:] if named else given, argparse.Namespace(command=command))


class _Parser(argparse.ArgumentParser):
    """A parser that reports a wrong argument as a `RequestError` of one sentence."""

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message}; see {self.prog} --help.")

    def format_help(self) -> str:
        """Return the help without the titled groups of options, which only --help-all lists."""
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
        """Wrap each line by itself. The wrapped lines of a table row are indented to its second column."""
        gaps = [(line, re.match(r" +\S.*?  +", line)) for line in text.splitlines()]
        return "\n".join(fill(line, width, subsequent_indent=" " * (gap.end() if gap else 0)) for line, gap in gaps)


class CommandHelp(NamedTuple):
    """The texts of a command's help; ``usage`` is empty if the command takes only options."""

    description: str
    example: str
    usage: str = ""


COMMANDS = {
    "ask": CommandHelp(
        "Ask your documents: an answer with its evidence, or an honest no. The word ask may be left out, unless the "
        "question is a command's name.",
        '"How long is the notice period?" --docs lease.pdf',
        usage='[ask] "QUESTION" [options]\n       python -m app COMMAND [options]',
    ),
    "chat": CommandHelp(
        "Ask questions that follow each other. Each is a line; the thread is kept; /help lists the commands.",
        "chat --docs lease.pdf",
    ),
    "threads": CommandHelp(
        "List, show, rename, export or delete the threads that are kept. They are of chat, and of the page of a server "
        "without tokens.",
        "threads export 3f2a answers.md",
        usage="threads [ACTION] [options]",
    ),
    "index": CommandHelp(
        "Add files or folders to the library, and bring it up to date.",
        "index ~/contracts notes.md --exclude '*draft*'",
        usage="index [PATH ...] [options]",
    ),
    "worker": CommandHelp(
        "Read files that wait to be indexed into PostgreSQL. Other machines may do so too; a signal ends it.",
        "worker --once",
    ),
    "check": CommandHelp(
        "Hold a text against the documents, claim by claim. Each has its verdict, quote and source; what was checked "
        "before is not checked again.",
        "check draft.md --docs contracts/ --strict",
        usage="check FILE [options]",
    ),
    "serve": CommandHelp(
        "Serve a page, a JSON API, OpenAI's API and MCP over your library. Only this machine reaches them, unless "
        "SELFRAG_TOKENS_FILE names the tokens of those who may.",
        "serve --open",
    ),
    "mcp": CommandHelp(
        "Serve an agent that starts this itself, on stdin and stdout. It asks by the Model Context Protocol.",
        "mcp --docs lease.pdf",
    ),
    "eval": CommandHelp(
        "Ask a question set through several systems, and score them. Tables and a report are written; what was asked "
        "before is not asked again.",
        "eval questions.jsonl --docs contracts/ --most 50",
        usage="eval DATASET [options]",
    ),
    "compare": CommandHelp(
        "Show Self-RAG and plain retrieve-and-generate side by side. It says what each read and cost, and which answer "
        "the chat model prefers; what was asked before is not asked again.",
        'compare "How long is the notice period?" --docs lease.pdf',
        usage='compare "QUESTION" [options]\n       python -m app compare --set FILE [options]',
    ),
    "calibrate": CommandHelp(
        "Fit the confidence to your model, your documents and your risk. Labelled questions tell how probable an "
        "answer is, and below what none is given; what was asked before is not asked again.",
        "calibrate labels.jsonl --risk 0.1",
        usage="calibrate [LABELS] [options]",
    ),
    "library": CommandHelp(
        "Copy, back up or restore a library; export labels of answers.",
        "library backup selfrag.zip",
        usage="library ACTION [options]",
    ),
    "pull": CommandHelp("Fetch the embedded models, for a machine without a network.", "pull"),
    "graph": CommandHelp("Print the compiled graph as Mermaid text, or draw it.", "graph --output graph.svg"),
}


SUMMARIES = "".join(f"  {name:10} {one.description.split('. ')[0].rstrip('.')}\n" for name, one in COMMANDS.items())
EPILOG = f"""commands:
{SUMMARIES}
exit codes:
  0    an outcome was reached
  1    a claim failed with check --strict
  2    the request is wrong
  3    the model cannot be reached
  130  interrupted

"""


def _parser(name: str) -> argparse.ArgumentParser:
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
    """Import the module of one command, and return the function that runs it."""
    module = import_module(f".commands.{name}", __package__)
    found: Callable[[argparse.Namespace], int] = getattr(module, "evaluate" if name == "eval" else name)
    return found

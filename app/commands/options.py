"""The options of each command; nothing heavy is imported here, so that ``--help`` is quick."""

import argparse
import re
from pathlib import Path
from typing import Any

from app.options import (
    add_concurrency,
    add_docs,
    add_json,
    count,
    file_path,
    file_pattern,
    first_day,
    last_day,
    number_range,
    probability,
    risk,
    weights,
)
from core.version import VERSION

BUILT_IN = ("self-rag", "plain", "closed-book")
HOST, PORT = "127.0.0.1", 8321
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", re.ASCII | re.IGNORECASE)
LONGEST_HOST_NAME = 253
OWN = "library"
# The options that beat a setting: name; choices, or a type and its name in the help; and what it does.
SETTINGS: tuple[tuple[str, Any, str], ...] = (
    ("--mode", ("adaptive", "always", "never"), "when to search (adaptive)"),
    ("--strategy", ("combined", "per-passage"), "one draft from all passages, or one for each"),
    (
        "--length",
        ("short", "long"),
        "long: segment by segment (where the question asks for a summary, a comparison, a list or a report)",
    ),
    ("--beam", (int, "N"), "passages from which a long answer is drafted at a time, each by itself (2)"),
    ("--k", (int, "N"), "passages to retrieve (4)"),
    (
        "--fallback",
        ("abstain", "direct", "passages"),
        "when nothing found is relevant: abstain, answer without documents, or draft from the best passages",
    ),
    ("--retrieve-threshold", (probability, "P"), "the least P(retrieve) with which to search"),
    ("--relevance-threshold", (probability, "P"), "the least P(relevant) of a passage that is read"),
    ("--support-threshold", (probability, "P"), "the least P(full) + P(partial) of a claim that holds"),
    ("--caution", (probability, "P"), "the least confidence of an answer: 0 dares all, 1 nothing"),
    (
        "--scoring",
        ("paper", "support-first"),
        "what ranks candidates: the weighted sum of the paper, or 5 times support and the rating (paper)",
    ),
    ("--weights", (weights, "REL,SUP,USE"), "the weights of the paper's score (1,1,0.5)"),
    ("--constraints", ("soft", "hard"), "hard: give no answer with an unsupported claim, or of little use (soft)"),
    ("--temperature", (float, "T"), "of drafts, 0 to 2 (0)"),
    ("--answer-tokens", (int, "N"), "the most tokens of a draft, 20 to 4000 (400)"),
)


def add_ask(parser: argparse.ArgumentParser) -> None:
    """Add the question and the options of ``ask``."""
    shown = _add_asking(parser)
    parser.add_argument("question", nargs="+", help="the question")
    add_json(parser)
    parser.add_argument("--picture", type=file_path, metavar="FILE", help="draw the run into FILE: .svg, .png or .mmd")
    shown.add_argument("--version", action="version", version=f"self-rag {VERSION}", help="print the version, and exit")


def _add_asking(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options that ``ask`` and ``chat`` share; return the group of those that say what to show."""
    add_docs(parser)
    parser.add_argument(
        "--source",
        action="append",
        type=file_pattern,
        metavar="PATTERN",
        help="search only files whose name or path fits, such as 'lease*.pdf'; quote it; repeatable",
    )
    parser.add_argument("--explain", action="store_true", help="give a reason with each verdict")
    asked = parser.add_argument_group("which passages to search")
    asked.add_argument("--page", type=number_range, metavar="N[-M]", help="search only this page, or these pages")
    asked.add_argument(
        "--since",
        type=first_day,
        metavar="DAY",
        help="search only what is dated DAY (2024-05-31, 2024-05, 2024) or later",
    )
    asked.add_argument("--until", type=last_day, metavar="DAY", help="search only what is dated DAY or earlier")
    _add_settings(parser)
    shown = parser.add_argument_group("what to show")
    shown.add_argument("--costs", action="store_true", help="print what each phase cost: calls, tokens, seconds")
    shown.add_argument("--no-stream", action="store_true", help="show no drafts on a terminal as they are written")
    return shown


def _add_settings(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how to search, draft and judge")
    group.add_argument("--long", action="store_const", const="long", dest="length", help="as --length long")
    for option, takes, use in SETTINGS:
        if isinstance(takes[0], str):
            group.add_argument(option, choices=takes, help=use)
        else:
            group.add_argument(option, type=takes[0], metavar=takes[1], help=use)


def add_chat(parser: argparse.ArgumentParser) -> None:
    """Add the options for which thread is continued, and how its questions are asked."""
    _add_asking(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--thread", metavar="ID", help="go on with this thread")
    which.add_argument("--last", action="store_true", help="go on with the thread that was last changed")
    parser.add_argument("--json", action="store_true", help="print each result as JSON in a line, and nothing else")


def add_calibrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "labels",
        nargs="?",
        type=file_path,
        metavar="LABELS",
        help="questions with their answers, or marked as having none; without it the model writes some",
    )
    add_docs(parser, "calibrate for this file or folder")
    parser.add_argument(
        "--risk", type=risk, metavar="R", help="the most of the answers given that may be wrong, such as 0.1"
    )
    parser.add_argument("--budget", type=count, metavar="CALLS", help="make at most so many calls of the model now")
    parser.add_argument("--yes", action="store_true", help="begin without asking whether the calls may be made")
    add_json(parser)
    parser.add_argument("--output", type=file_path, metavar="FILE", help="write a page into FILE too: .html")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--status", action="store_true", help="say what is in use for these documents")
    which.add_argument("--reset", action="store_true", help="go back to what came with the model")


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", type=file_path, metavar="FILE", help="the text: a document of any kind, or - for stdin")
    add_docs(parser, "check against this file or folder alone")
    add_json(parser)
    parser.add_argument("--output", type=file_path, metavar="FILE", help="write a page into FILE too: .html")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="exit with 1 if a claim has no support, is contradicted or could not be checked",
    )
    add_concurrency(parser, "claims")


def add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", help="the question")
    parser.add_argument("--set", type=file_path, metavar="FILE", dest="dataset", help="compare on this question set")
    parser.add_argument("--reference", metavar="TEXT", help="the right answer to the question")
    add_docs(parser, "ask of this file or folder alone")
    add_json(parser)
    parser.add_argument("--output", type=file_path, metavar="FILE", help="write into FILE too: .md, .html or .csv")
    how = parser.add_argument_group("how to ask")
    how.add_argument(
        "--out", type=file_path, metavar="FOLDER", help="where the answers are kept (eval/SET, or eval/compare)"
    )
    add_concurrency(how)
    parser.set_defaults(systems=("self-rag", "plain"), variant=[], explain=False)
    parser.set_defaults(source=None, page=None, since=None, until=None)
    _add_settings(parser)


def add_eval(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", type=Path, metavar="DATASET", help="questions: JSONL, JSON, SQuAD 2.0 or CSV")
    add_docs(parser, "ask of this file or folder")
    parser.add_argument(
        "--systems", type=_systems, metavar="NAME,…", default=("self-rag", "plain"), help=f"of {', '.join(BUILT_IN)}"
    )
    parser.add_argument("--most", type=count, metavar="N", help="ask N questions, drawn by --seed")
    parser.add_argument("--out", type=file_path, metavar="FOLDER", help="where the results go (eval/DATASET)")
    parser.add_argument("--judge", action="store_true", help="let the model judge answers, passages read, and pairs")
    which = parser.add_argument_group("which questions to ask")
    which.add_argument(
        "--paragraphs", type=number_range, metavar="FROM-TO", help="of SQuAD, the questions on these paragraphs"
    )
    which.add_argument("--balanced", action="store_true", help="draw as many unanswerable questions as answerable ones")
    which.add_argument("--seed", type=int, metavar="N", help="draw other questions (0)")
    how = parser.add_argument_group("how to ask them")
    how.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME:k=8,…",
        help="self-rag with other settings, such as relevant=0.5,mode=always,drafts=1; repeatable",
    )
    add_concurrency(how)


def add_graph(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="FILE", help="draw into FILE: .svg, .png or .mmd")


def add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", type=file_path, metavar="PATH", help="a file or folder")
    parser.add_argument("--list", action="store_true", help="list what is in the library, and what was left out")
    parser.add_argument("--verify", action="store_true", help="check the whole index, and mend what can be mended")
    parser.add_argument(
        "--remove",
        action="append",
        type=file_path,
        metavar="PATH",
        help="take out what was added, or delete what was uploaded: uploads:/NAME",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        type=file_pattern,
        metavar="PATTERN",
        help="leave out a file or folder of the library, or what fits, as '*draft*'; quote it; remembered; repeatable",
    )
    parser.add_argument(
        "--include",
        action="append",
        type=file_pattern,
        metavar="PATTERN",
        help="take back what was excluded; repeatable",
    )
    parser.add_argument(
        "--follow-links",
        action=argparse.BooleanOptionalAction,
        help="index what links in the folders named lead to, also outside of them; remembered",
    )
    parser.add_argument("--no-wait", action="store_true", help="of PostgreSQL: let workers read what changed, and end")


def add_library(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = commands.add_parser(
        "export-labels", help="write what people said of answers as a question set that `eval` reads"
    )
    export.add_argument("file", type=file_path, metavar="FILE", help="the file to write: .jsonl")
    audit = commands.add_parser("audit", help="verify the audit log of a server, and print what it says as JSON lines")
    audit.add_argument("file", type=file_path, metavar="FILE", help="the log, as SELFRAG_AUDIT_FILE names it")
    audit.add_argument("--who", metavar="NAME", help="only what this person did")
    audit.add_argument("--since", type=first_day, metavar="DAY", help="only from this day on, in UTC")
    copy = commands.add_parser("copy", help="copy a library from one store to another, with its vectors")
    copy.add_argument("source", metavar="FROM", help="as SELFRAG_STORE: sqlite://, sqlite:///folder or postgresql://…")
    copy.add_argument("target", metavar="TO", help="the same")
    backup = commands.add_parser("backup", help="save a library, with its vectors, and the threads in one file")
    backup.add_argument("file", type=file_path, metavar="FILE", help="the file to write: .zip")
    restore = commands.add_parser("restore", help="put back what a backup holds; what is there already stays")
    restore.add_argument("file", type=file_path, metavar="FILE", help="a backup")
    for command in (copy, backup, restore):
        command.add_argument(
            "--library", default=OWN, metavar="NAME", help="library, or shared, which a server with tokens asks"
        )


def add_mcp(parser: argparse.ArgumentParser) -> None:
    add_docs(parser)
    parser.add_argument("--allow-write", action="store_true", help="let the agent add files and folders to the library")


def add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default=HOST, metavar="ADDRESS", help=f"where to listen ({HOST})")
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"the port ({PORT}); 0 is any free one")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--allow-host",
        type=_host_name,
        action="append",
        metavar="NAME",
        help="another host name that browsers reach the server by, such as a proxy's; repeatable",
    )
    parser.add_argument("--mcp-allow-write", action="store_true", help="let agents upload documents over MCP")


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of ``threads``; without a subcommand, ``threads`` lists the threads."""
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else: of list, show")
    commands = parser.add_subparsers(dest="action", metavar="list|show|rename|export|delete")
    listed = commands.add_parser("list", help="list the threads, the last changed first")
    one = argparse.ArgumentParser(add_help=False)
    one.add_argument("id", metavar="ID", help="the thread's id, or the beginning of it")
    showed = commands.add_parser("show", parents=[one], help="show its questions with their answers and evidence")
    for parser_ in (listed, showed):
        parser_.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object and nothing else"
        )
    renamed = commands.add_parser("rename", parents=[one], help="give it another name")
    renamed.add_argument("name", metavar="NAME", nargs="+", help="the name")
    exported = commands.add_parser("export", parents=[one], help="write it with its evidence into a new file")
    exported.add_argument("file", type=file_path, metavar="FILE", help="the file to write: .md, .json or .html")
    commands.add_parser("delete", parents=[one], help="delete it for good")


def add_worker(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--library",
        default=OWN,
        metavar="NAME",
        help="read for this library: library, or shared, of a server with tokens",
    )
    parser.add_argument("--once", action="store_true", help="end when no file waits")


def _systems(word: str) -> tuple[str, ...]:
    names = tuple(filter(None, (name.strip() for name in word.split(","))))
    unknown = next((name for name in names if name not in BUILT_IN), None)
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"{unknown or 'none'} is no system: choose of {', '.join(BUILT_IN)}")
    return names


def _port(word: str) -> int:
    if not word.isdecimal() or int(word) > 65_535:
        raise argparse.ArgumentTypeError(f"{word!r} is no port from 0 to 65535")
    return int(word)


def _host_name(word: str) -> str:
    if len(word) > LONGEST_HOST_NAME or not HOST_NAME.fullmatch(word):
        raise argparse.ArgumentTypeError(f"{word!r} is no host name: write it without http:// and without a port")
    return word

"""SQuAD 2.0: questions on paragraphs, half of them written to look answerable; each paragraph becomes a document."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from errors import RequestError
from evaluation.datasets_rows import whole, with_id
from evaluation.records import Example, Gold
from retrieval.clean import is_blank
from retrieval.errors import shown

OURS = re.compile(r"paragraph-\d+\.txt")
FORM = "write it as SQuAD 2.0 does, or download it anew"


def is_squad(loaded: Any) -> bool:
    """Whether parsed JSON has SQuAD's form: articles of paragraphs."""
    return any(isinstance(article, dict) and "paragraphs" in article for article in _articles(loaded))


def read_squad(
    name: str, loaded: Any, folder: Path, chosen: tuple[int, int] | None = None
) -> tuple[tuple[Example, ...], tuple[Path, ...]]:
    """The questions on the paragraphs ``chosen``, all if None, and the folder of all paragraphs, written as text files.

    ``chosen`` counts from 1, across articles, both ends included. Raises `RequestError` for a file in another form, a
    range without paragraphs, or a folder that cannot be written.
    """
    paragraphs = _paragraphs(name, loaded)
    first, last = chosen or (1, len(paragraphs))
    if not 1 <= first <= last <= len(paragraphs):
        raise RequestError(f"{name} has the paragraphs 1-{len(paragraphs)}: choose among them with --paragraphs.")
    sources = _written(folder, [text for text, _ in paragraphs])
    used: set[str] = set()
    examples = tuple(
        _example(name, f"paragraph {number}, question {place}", question, sources[number - 1], used)
        for number in range(first, last + 1)
        for place, question in enumerate(paragraphs[number - 1][1], 1)
    )
    if not examples:
        raise RequestError(f"{name} holds no question on these paragraphs: choose others with --paragraphs.")
    return examples, (folder,)


def _articles(loaded: Any) -> list[Any]:
    data = loaded.get("data", [loaded]) if isinstance(loaded, dict) else loaded
    return data if isinstance(data, list) else []


def _paragraphs(name: str, loaded: Any) -> list[tuple[str, list[Any]]]:
    found: list[tuple[str, list[Any]]] = []
    for article in _articles(loaded):
        paragraphs = article.get("paragraphs") if isinstance(article, dict) else None
        for paragraph in paragraphs if isinstance(paragraphs, list) else [None]:
            text = paragraph.get("context") if isinstance(paragraph, dict) else None
            questions = paragraph.get("qas", []) if isinstance(paragraph, dict) else None
            if not isinstance(text, str) or not text.strip() or not isinstance(questions, list):
                raise RequestError(f"{name}, paragraph {len(found) + 1}: it has no context, or no list qas: {FORM}.")
            found.append((whole(text), questions))
    return found


def _written(folder: Path, texts: list[str]) -> list[str]:
    """Write what differs, remove what is left of another set; return each file's name as an index reports it."""
    width = max(2, len(str(len(texts))))
    files = {f"paragraph-{number:0{width}}.txt": text + "\n" for number, text in enumerate(texts, 1)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            if OURS.fullmatch(old.name) and old.name not in files:
                old.unlink()
        for name, text in files.items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != text.encode():
                path.write_bytes(text.encode())
    except OSError as error:
        raise RequestError(
            f"The paragraphs cannot be written into {shown(folder)} ({error.strerror}): name another folder with --out."
        ) from error
    real = Path(os.path.realpath(folder))
    return [shown(real / name) for name in files]


def _example(name: str, place: str, question: Any, source: str, used: set[str]) -> Example:
    try:
        text = whole(question["question"])
        answers, plausible = _texts(question.get("answers")), _texts(question.get("plausible_answers"))
        impossible = bool(question.get("is_impossible", not answers))
    except (TypeError, LookupError, AttributeError) as error:
        raise RequestError(f"{name}, {place}: it has no question, or answers without a text: {FORM}.") from error
    if is_blank(text):
        raise RequestError(f"{name}, {place}: the question is empty: {FORM}.")
    references = () if impossible else answers
    return Example(
        id=with_id(str(question.get("id") or f"{place.replace(', ', '-').replace(' ', '')}"), used),
        question=text,
        route="retrieve",
        answerable=not impossible,
        references=references,
        gold=(Gold(source=source, text=min(references, key=len)),) if references else (),
        plausible=plausible,
    )


def _texts(answers: list[Mapping[str, Any]] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (whole(answer["text"]) for answer in answers or ()))))

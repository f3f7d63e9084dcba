"""Read SQuAD 2.0: questions on paragraphs, half of them unanswerable; each paragraph becomes a document."""

from pathlib import Path
from typing import Any

from core import files
from core.errors import RequestError
from core.fingerprint import digest
from core.text import shown_path, without_surrogates
from evaluation.datasets.row_formats import Row
from evaluation.folder import claim

FORM = "write it as SQuAD 2.0 does, or download it again"


def is_squad(loaded: Any) -> bool:
    """Return True if parsed JSON has SQuAD's form: articles of paragraphs."""
    return any(isinstance(article, dict) and "paragraphs" in article for article in _articles(loaded))


def rows_of_squad(
    name: str, loaded: Any, documents: Path, chosen: tuple[int, int] | None = None
) -> tuple[list[Row], Path]:
    """Return the questions on the ``chosen`` paragraphs, all if None, and the folder of all paragraphs as text files.

    The folder lies in ``documents``. ``chosen`` counts from 1, across articles, both ends included. Raises
    `RequestError` for a file in another form, a range without paragraphs, or a folder that cannot be written.
    """
    paragraphs = _paragraphs(name, loaded)
    first, last = chosen or (1, len(paragraphs))
    if not 1 <= first <= last <= len(paragraphs):
        raise RequestError(f"{name} has the paragraphs 1-{len(paragraphs)}: choose among them with --paragraphs.")
    folder, sources = _write(documents, [text for text, _ in paragraphs])
    rows = [
        _row(name, f"paragraph {number}, question {place}", question, sources[number - 1])
        for number in range(first, last + 1)
        for place, question in enumerate(paragraphs[number - 1][1], 1)
    ]
    return rows, folder


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
            found.append((without_surrogates(text), questions))
    return found


def _write(documents: Path, texts: list[str]) -> tuple[Path, list[str]]:
    """Write the files that are missing or differ into a folder of this set's own, named by its content.

    Return the folder and the files' names.
    """
    folder, digits = documents / digest(*texts)[:8], max(2, len(str(len(texts))))
    wanted = {
        folder / f"paragraph-{number:0{digits}}.txt": (text + "\n").encode() for number, text in enumerate(texts, 1)
    }
    try:
        claim(documents.parent)
        for one in (documents, folder):
            if one.is_symlink():
                raise files.NotRegularFileError(one, "it is a link")
            files.make_private_folder(one)
        for path in wanted:
            files.make_private(path)
        files.replace_private({path: data for path, data in wanted.items() if not _has_content(path, data)})
    except OSError as error:
        why = f"The paragraphs cannot be written into {shown_path(documents)} ({error.strerror})"
        raise RequestError(f"{why}: name another folder with --out.") from error
    return folder, [path.name for path in wanted]


def _has_content(path: Path, data: bytes) -> bool:
    try:
        return files.read_regular(path, len(data)) == data
    except (FileNotFoundError, files.FileTooLargeError):
        return False


def _row(name: str, place: str, question: Any, source: str) -> Row:
    try:
        answers, plausible = _texts(question, "answers"), _texts(question, "plausible_answers")
        shortest = min(answers, key=len, default=None)
        impossible = question.get("is_impossible")
        if not isinstance(impossible, int | None):
            raise TypeError
    except (TypeError, LookupError, AttributeError) as error:
        raise RequestError(f"{name}, {place}: it is no question, or has answers without a text: {FORM}.") from error
    return place, {
        "id": question.get("id") or place.replace(", ", "-").replace(" ", ""),
        "question": question.get("question"),
        "route": "retrieve",
        "answerable": bool(answers) if impossible is None else not impossible,
        "answers": answers,
        "gold": {"source": source, "text": shortest} if shortest else None,
        "plausible": plausible,
    }


def _texts(question: Any, field: str) -> list[Any]:
    return [answer["text"] for answer in question.get(field) or () if answer["text"]]

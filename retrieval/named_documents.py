"""Find the documents that a question names by words of their paths: 3M's report in reports/3M_2018_10K.pdf."""

import math
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from langchain_core.documents import Document

from core.passages import section_of
from core.words import STOP_WORDS
from grounding.names import names_lacked_by

WORD = re.compile(r"[^\W_]+")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
NAME = re.compile(r"(?!\d+$)(?:.{3,}|.*\d.*)")  # two letters, such as US, are part of too many paths
MOST_JOINED = 3  # words, as in AmericanWaterWorks.pdf
LARGEST_SHARE = 0.5  # of the paths: a name in more of them names none


def named_documents(paths: Sequence[bytes], question: str) -> set[bytes]:
    """Return for each name in the question the paths with it that share the rarest words with the question.

    A name has a capital letter or a digit, unless the question has no capitals, and is in at most half of the paths. A
    word weighs log(paths / paths with it). 100,000 paths take 0.1 s, or a second if the name is in very many.
    """
    text, asked = _folded(os.fsdecode(b"\0".join(paths))), _words(question)
    folded = text.split("\0")
    most = LARGEST_SHARE * len(paths)
    names = {name: words for name, words in _names(question).items() if name in text}
    sought = {name for name in names if sum(name in path for path in folded) <= most}
    if not sought:
        return set()
    shared = [_words(path) & asked if any(one in path for one in sought) else set() for path in folded]
    paths_with = Counter(word for words in shared for word in words)
    weights = [sum(math.log(len(paths) / paths_with[word]) for word in sorted(words)) for words in shared]
    found, covered = set[bytes](), set[str]()
    for name in sorted(sought, key=lambda one: -len(names[one])):
        having = [number for number, words in enumerate(shared) if name in words]
        if having and not covered.issuperset(names[name]):  # Best Buy does not name best-practice.pdf
            best = max(weights[number] for number in having)
            found.update(paths[number] for number in having if weights[number] == best)
            covered.update(names[name])
    return found


def entitle(passages: Iterable[Document], named: Collection[bytes], question: str) -> None:
    """Mark the passages of ``named`` documents, and put what names these before a title that does not.

    A page may be read alone, and not say whose it is.
    """
    names = _names(question).keys()
    for passage in passages:
        path, title = Path(passage.metadata["source"]), str(passage.metadata.get("title") or "")
        if os.fsencode(path) in named:
            passage.metadata["is_named"] = True
            if not names & _words(title):
                _put_before_title([one for one in path.with_suffix("").parts if names & _words(one)], passage)


def entitle_by_file(passages: Sequence[Document], further: Iterable[Document], question: str) -> None:
    """Put the file's name before the title of passages whose document lacks a name of the question, but for its path.

    It has those that its ``passages`` or ``further`` ones have. Then a figure of Bergli's is taken for Bergli's, and
    not for Waldau's.
    """
    lacked = names_lacked((*passages, *further), question)
    for passage in passages:
        if passage.metadata["source"] in lacked:
            _put_before_title([Path(passage.metadata["source"]).stem], passage)


def names_lacked(passages: Iterable[Document], question: str) -> dict[str, list[str]]:
    """Return for each source of passages, if these lack any name of the question, the words of those that they lack."""
    texts = defaultdict[str, list[str]](list)
    for one in passages:
        texts[one.metadata["source"]].append(f"{section_of(one.metadata)}\n{one.page_content}")
    lacked = {source: names_lacked_by("\n".join(own), question) for source, own in texts.items()}
    return {source: list(chain.from_iterable(missing)) for source, missing in lacked.items() if missing}


def _put_before_title(parts: Sequence[str], passage: Document) -> None:
    titles = [*(" ".join(WORD.findall(one)) for one in parts), str(passage.metadata.get("title") or "")]
    passage.metadata["title"] = " · ".join(filter(None, dict.fromkeys(titles)))


def stated(passage: Document) -> str:
    """Return all that names what a passage is about: its source, its section and its text."""
    return f"{passage.metadata['source']}\n{section_of(passage.metadata)}\n{passage.page_content}"


def is_named(passage: Document) -> bool:
    """Whether a passage that was found is of a document that the question names."""
    return bool(passage.metadata.get("is_named"))


def names_in(question: str, named: Iterable[Document]) -> set[str]:
    """Return what may be a name in a question; if it has no capitals, the words in the paths of ``named`` passages."""
    names = set(_names(question))
    return names & set().union(*(_words(one.metadata["source"]) for one in named)) if question.islower() else names


def is_of_other_document(passage: Document, names: Collection[str]) -> bool:
    """Whether a passage is of no document that the question names, and has none of the question's ``names``."""
    return not is_named(passage) and _words(stated(passage)).isdisjoint(names)


def without_name(question: str, source: str) -> str:
    """Return the question without the words that name this file: within it these words tell nothing."""
    known = _words(str(Path(source).with_suffix("")))
    naming = {word for joined, words in _names(question).items() if joined in known for word in words}
    return WORD.sub(lambda match: "" if _folded(match.group()) in naming else match.group(), question)


def _words(text: str) -> set[str]:
    """Return the folded words of a text, its years, and up to `MOST_JOINED` adjacent words as one."""
    runs = _runs(WORD.findall(_folded(text)))
    return {*map("".join, runs), *YEAR.findall(text)} - STOP_WORDS


def _names(question: str) -> dict[str, Sequence[str]]:
    """Return what may be a name in a question, adjacent words joined, and the words of each."""
    lower = question.islower()
    found = {
        "".join(words): words
        for part in re.split(r"[^\w\s.&-]", unicodedata.normalize("NFC", question))
        for run in _runs(WORD.findall(part))
        if lower or not any(map(str.islower, run))
        for words in [[_folded(one) for one in run]]
    }
    return {name: words for name, words in found.items() if NAME.fullmatch(name)}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield each run of at most `MOST_JOINED` adjacent words."""
    return (words[at : at + size] for size in range(1, MOST_JOINED + 1) for at in range(len(words) - size + 1))

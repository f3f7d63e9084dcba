"""Make the rows that reflection tokens are trained on: questions with the passages that the product's search finds.

    python -m training.rows squad nq --mirror ~/mirror

A family's documents become one library, split, embedded and searched as a user's are, and each of its questions is
asked of it. ``training/rows/<family>.jsonl.xz`` then holds one row for each question, sorted by id: its passages in
the order of the search, each labelled 1 if it holds the answer and is of the question's own document, None if that
cannot be told, else 0; and claims, each supported in full, in part or not at all. A row is ``forced`` if the search did
not find its own document's best passage, which then stands in the last place. Nothing is drawn but by fixed seeds.
"""

from __future__ import annotations

import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from random import Random
from typing import Any

from app.compose import embeddings_of
from app.settings import load_settings
from benchmarks.documents import load
from benchmarks.harness import FOLDER, counted, option_parser
from evaluation.measures.scores import contains, tokens
from grounding.sentences import sentences
from grounding.stems import stems
from retrieval.library.library import Library
from retrieval.splitter import SplitSettings, split
from training.asked import Asked, Claim, Family, K, holds
from training.row_sources import FAMILIES, Sources, apart_from
from training.row_words import Kinds, best_sentence, joined, mentions, wanted_kinds

ROWS = Path("training") / "rows"
MIRROR = Path("mirror")
ARTICLE = Path("../shared/data/squad2_computational_complexity.json")  # which reports are on
PARTIAL = 0.6  # of the rows that could have a partly supported claim have one
LISTED = re.compile(r"\b(?:an?|one|any|another|some|name|example)\b", re.IGNORECASE)  # asks for one of several
PLENTY = 0.6  # share of a question's stems with which a passage may answer what nobody labelled
STEP = 0.3  # the share with which one of several paragraphs may be a step to the answer
UNSURE = 0.75  # of the best passage's share: from there another that holds the answer gets the label 1


class Passages:
    """A family's library: the product's search, and each document's passages."""

    def __init__(self, family: Family, home: Path) -> None:
        files = home / "documents"
        files.mkdir(parents=True, exist_ok=True)
        for name, text in family.documents.items():
            (files / name).write_text(text, encoding="utf-8")
        embeddings, name = embeddings_of(load_settings())
        self.library = Library.open(home / "index", embeddings, embedding_name=name, split=SplitSettings())
        self.library.add([files])
        self.library.sync()
        self.pieces = {name: [one.page_content for one in split(load(files / name))] for name in family.documents}
        words = {name: set(shingles(text)) for name, text in family.documents.items()}
        self._having: dict[tuple[str, ...], list[str]] = {}
        for name, ones in words.items():
            for one in ones:
                self._having.setdefault(one, []).append(name)
        self._words = words

    def found(self, question: str, without: Collection[str] = ()) -> list[tuple[str, str]]:
        """Return the best passages as (document, text), as if the documents ``without`` were not there."""
        found = self.library.store.similarity_search(
            question, K, visible=lambda path: Path(os.fsdecode(path)).name not in without
        )
        return [(Path(one.metadata["source"]).name, one.page_content) for one in found]

    def near(self, names: Collection[str]) -> set[str]:
        """Return these documents and those that share a fifth of their own runs of five words with one of them."""
        near = set(names)
        for name in names:
            shared = Counter(other for one in self._words[name] for other in self._having[one])
            near |= {other for other, count in shared.items() if count >= 0.2 * len(self._words[other])}
        return near


def shingles(text: str, size: int = 5) -> Iterator[tuple[str, ...]]:
    """Yield each run of so many words."""
    words = tokens(text)
    return zip(*(words[at:] for at in range(size)), strict=False)


def share(question: str, passage: str) -> float:
    """Return the share of the question's stems that the passage has."""
    wanted = stems(question)
    return len(wanted & stems(passage)) / max(1, len(wanted))


def best_of(asked: Asked, pieces: Sequence[str]) -> str | None:
    """Return the document's passage nearest to the question, of those that hold the answer if it has one."""
    gold = asked.gold or asked.answers
    able = [one for one in pieces if any(holds(one, answer, asked.question) for answer in gold)] if gold else pieces
    return max(able, key=lambda one: share(asked.question, one), default=None)


def label_of(asked: Asked, document: str, text: str, best: Collection[str]) -> int | None:
    """Return the label of a passage; ``best`` are the best ones of the question's own documents."""
    gold, near = asked.gold or asked.answers, share(asked.question, text)
    held = any(holds(text, answer, asked.question) for answer in gold)
    if asked.claims:
        return int(held and document in asked.documents)  # made by code: nothing else holds it
    if asked.kind == "taken-away" or document not in asked.documents:
        return None if held or (near >= PLENTY and asked.kind != "right") else 0
    if asked.kind != "right":
        return None if len(asked.documents) > 1 and near >= STEP else 0
    if text in best and held:
        return 1
    if held:
        return 1 if near >= UNSURE * max(share(asked.question, one) for one in best) else None
    return None if len(asked.documents) > 1 else 0  # a paragraph on the way to the answer, or beside it


def row_of(family: Family, asked: Asked, passages: Passages, kinds: Kinds) -> dict[str, Any] | None:
    """Return a question's row; None if its documents lack the answer, or others have one that was taken away."""
    best: list[str] = []
    if asked.kind == "taken-away":
        found = passages.found(asked.question, without=passages.near(asked.documents))
        if any(label_of(asked, *one, ()) is None and share(asked.question, one[1]) >= 0.5 for one in found):
            return None
    else:
        found = passages.found(asked.question)
        for name in asked.documents:
            pieces = passages.pieces[name]
            beside = replace(asked, answers=(), gold=()) if len(asked.documents) > 1 else asked
            if not (piece := best_of(asked, pieces) or best_of(beside, pieces)):
                return None
            best.append(piece)
    missing = [one for one in zip(asked.documents, best, strict=False) if one[1] not in [text for _, text in found]]
    spare = [one for one in found if one[1] not in best][: K - len(best)]
    found = [one for one in found if one[1] in best or not missing or one in spare] + missing
    labelled = {text: label_of(asked, name, text, best) for name, text in found}
    if asked.claims and not all(any(contains(text, one) for text in labelled) for one in asked.gold):
        return None  # an exception, say, that the search did not find
    if len(labelled) < K or (asked.kind == "right" and 1 not in labelled.values()):
        return None
    random = Random(f"{family.name} {asked.id}")
    return {
        "id": asked.id,
        "family": family.name,
        "language": asked.language,
        "question": asked.question,
        "answers": list(asked.answers) if asked.kind == "right" else [],
        "kind": asked.kind,
        "passages": [{"text": text, "label": label} for text, label in labelled.items()],
        "claims": [asdict(one) for one in asked.claims or claims_on(family, asked, labelled, best, kinds, random)],
    } | ({"forced": True} if missing else {})


def claims_on(
    family: Family, asked: Asked, labelled: Mapping[str, int | None], best: Sequence[str], kinds: Kinds, random: Random
) -> list[Claim]:
    """Return two to five claims on the passages, fewer where none can be made surely."""
    if asked.kind != "right":
        own = best[0] if best else next((text for text, label in labelled.items() if label == 0), "")
        return mistaken(asked, own, random)
    answer = asked.answers[0]
    passage = next(text for text, label in labelled.items() if label == 1)
    spans = asked.gold or asked.answers
    whole = all(any(holds(text, span, asked.question) for text in labelled) for span in spans)
    made = [Claim(answer, "full", "gold")] if whole else []
    sentence = next((one for span in spans if (one := best_sentence(passage, asked.question, span))), None)
    if sentence:
        made.append(Claim(sentence, "full", "sentence"))
    listed = LISTED.search(asked.question)
    for text in [sentence, None if listed else answer][:: random.choice((1, -1))]:
        if text and (changed := kinds.swapped(text, passage, random, within=answer)):
            made.append(Claim(changed, "none", "swapped"))
            break
    if other := other_subject(family, asked, passage, random):
        made.append(Claim(other, "none", "other-subject"))
    foreign = next((one for text, label in labelled.items() if label == 0 and (one := best_sentence(text, ""))), None)
    if sentence and (wrong := kinds.swapped(foreign or "", foreign or "", random)) and random.random() < PARTIAL:
        made.append(Claim(joined(sentence, wrong, asked.language), "partial", "partial"))
    if asked.gold:
        made += marked(asked, passage, random)
    return made


def marked(asked: Asked, passage: str, random: Random) -> list[Claim]:
    """Return two of the sentences that an annotator marked for a long answer, and two that were left unmarked."""
    said = [passage[start:end] for start, end in sentences(passage)]
    said = [one for one in said if 30 <= len(one) <= 300 and not one[0].islower()]
    within = [one for one in said if any(contains(gold, one) or contains(one, gold) for gold in asked.gold)]
    beside = [one for one in said if one not in within]
    return [
        *(Claim(text, "full", "marked") for text in random.sample(within, min(2, len(within)))),
        *(Claim(text, "none", "unmarked") for text in random.sample(beside, min(2, len(beside)))),
    ]


def mistaken(asked: Asked, passage: str, random: Random) -> list[Claim]:
    """Return claims that take for the answer what is of its kind, in the sentence nearest to the question."""
    taken = [asked.instead] if asked.instead and contains(passage, asked.instead) else []
    wanted = wanted_kinds(asked.question)
    fit = {one.text for one in mentions(passage) if one.kind in wanted and not contains(asked.question, one.text)}
    fit = {one for one in fit if not any(contains(answer, one) for answer in asked.answers)}
    taken += random.sample(sorted(fit), min(len(fit), 2 - len(taken)))
    sentence = best_sentence(passage, asked.question, taken[0] if taken else "")
    return [Claim(text, "none", "mistaken") for text in [*taken, sentence] if text]


def other_subject(family: Family, asked: Asked, passage: str, random: Random) -> str | None:
    """Return the answer of another question on the document, or another of its sentences; None in doubt."""
    siblings = [one for name in asked.documents for one in family.siblings.get(name, []) if one.kind == "right"]
    answer, options = asked.answers[0], []
    for one in siblings:
        if one.question != asked.question and share(asked.question, one.question) < PLENTY:
            options.append(one.answers[0])
    options += [
        passage[start:end] for start, end in sentences(passage) if end - start <= 300 and passage[end - 1] in ".!?"
    ]
    sure = [
        one
        for one in options
        if not contains(one, answer)
        and not contains(answer, one)
        and not stems(one) & stems(answer)
        and share(asked.question, one) < 0.5
        and not one[0].islower()
    ]
    return random.choice(sure) if sure else None


def write(name: str, rows: Sequence[Mapping[str, Any]], folder: Path = ROWS) -> Path:
    """Write a family's rows, sorted by id: the same rows give the same bytes."""
    lines = (json.dumps(row, ensure_ascii=False) for row in sorted(rows, key=lambda row: str(row["id"])))
    path = folder / f"{name}.jsonl.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))
    return path


def make(family: Family, home: Path) -> list[dict[str, Any]]:
    """Return the rows of a family, whose library lies in the folder."""
    passages = Passages(family, home)
    kinds = Kinds(family.documents.values())
    rows = []
    for asked in counted(family.asked, family.name):
        if row := row_of(family, asked, passages, kinds):
            rows.append(row)
    return rows


def main() -> None:
    """Make the families named, or all."""
    parser = option_parser(__doc__, mirror=MIRROR, article=ARTICLE)
    parser.add_argument("families", nargs="*", metavar="family", help=", ".join(FAMILIES))
    options = parser.parse_args()
    sources = Sources(options.mirror.expanduser())
    for name in options.families or FAMILIES:
        rows = make(apart_from(options.article, FAMILIES[name](sources)), FOLDER / "rows" / name)
        path = write(name, rows)
        kinds = Counter(row["kind"] for row in rows)
        claims = Counter(f"{claim['kind']} {claim['label']}" for row in rows for claim in row["claims"])
        labels = Counter(str(passage["label"]) for row in rows for passage in row["passages"])
        forced = sum("forced" in row for row in rows)
        print(f"{path}: {len(rows)} rows, {forced} forced", *map(dict, (kinds, claims, labels)))


if __name__ == "__main__":
    main()

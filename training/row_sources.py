"""The families of questions that rows are made from, with their documents: read from public repositories, or generated.

Nothing is taken of the shared SQuAD article, nor of any half or file that a report uses.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from core.errors import RequestError
from training.asked import Asked, Claim, Family, K, holds
from training.layout import rows_of
from training.row_words import Kinds

PROMPT = re.compile(r"Passage: (.*?)\s*Question: (.*?)\s*Answer:\s*$", re.DOTALL)
PARAGRAPH = re.compile(r"\s*Paragraph \d+: ")
REPORTED = frozenset(("Computational_complexity_theory",))
WRITTEN = Path("training") / "written"  # by a large language model, for these rows
SHINGLE = 60  # characters in common with the shared article for which a document is dropped


@dataclass(frozen=True)
class Sources:
    """Where public data lies: a folder of bare repositories, each ``owner+name/repo``."""

    mirror: Path

    def stored(self, repository: str, path: str) -> str:
        """Return a file of a mirrored repository's head. Raises `RequestError` if it is not there."""
        folder = self.mirror / repository / "repo"
        command = ["git", f"--git-dir={folder}", "cat-file", "-p", f"HEAD:{path}"]
        found = subprocess.run(command, capture_output=True, text=True)
        if found.returncode:
            address = repository.replace("+", "/")
            raise RequestError(f"{path} is not in {folder}: clone github.com/{address} there with git clone --bare.")
        return found.stdout


def prompted(sources: Sources, dataset: str, splits: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return (id, passage, question, answer) of MaorLavi's files, the answer empty where there is none."""
    rows = []
    for side in ("answerable", "unanswerable"):
        for name in (f"{side}_{split}" for split in splits):
            file = f"data/abstain_aware_prompt/{dataset}/{name}.json"
            for number, row in enumerate(json.loads(sources.stored("MaorLavi+unanswerability-directions", file))):
                passage, question = (part.strip() for part in PROMPT.search(row["instruction"]).groups())  # type: ignore[union-attr]
                answer = row["gt_answer"].strip() if side == "answerable" else ""
                rows.append((f"{dataset}-{name}-{number:04}", passage, question, answer))
    return rows


def apart_from(article: Path, family: Family) -> Family:
    """Return the family without the documents that overlap with the article, and say how many those are."""
    data = json.loads(article.read_text(encoding="utf-8"))
    paragraphs = [paragraph["context"] for part in data.get("data", [data]) for paragraph in part["paragraphs"]]
    known = set().union(*map(_shingles, paragraphs))
    kept = {key: text for key, text in family.documents.items() if not known & _shingles(text)}
    print(f"{family.name}: {len(family.documents) - len(kept)} documents overlap with {article.name} and are left out")
    return Family(family.name, kept, [one for one in family.asked if all(key in kept for key in one.documents)])


def _shingles(text: str) -> set[str]:
    plain = " ".join(re.findall(r"\w+", text.lower()))
    return {plain[at : at + SHINGLE] for at in range(max(1, len(plain) - SHINGLE + 1))}


def plain(text: str) -> str:
    """Return Natural Questions' text, whose tokens stand apart, as people write it."""
    text = text.replace("`` ", '"').replace(" ''", '"').replace(" - ", "-").replace(" -- ", " – ")
    return re.sub(r"([(\[]) | (?=[.,;:!?%)\]]|'s\b|n't\b|'(?:re|ve|ll|d|m)\b)", r"\1", text).strip()


def numbered(texts: Iterable[str]) -> dict[str, str]:
    """Return a file name for each distinct text."""
    return {text: f"document-{number:04}.txt" for number, text in enumerate(dict.fromkeys(texts))}


def varied(asked: Sequence[Asked], texts: Mapping[str, str], one_word: int, taken_away: int, right: int) -> list[Asked]:
    """Return at most so many of the answerable questions: with one word changed, with no document, and as they are.

    ``texts`` are the documents by name.
    """
    kinds, used, random = Kinds(texts.values(), asked[0].language), Counter[str](), Random(1)
    rest = list(asked)
    random.shuffle(rest)
    changed: list[Asked] = []
    kept: list[Asked] = []
    for one in rest:
        document = " ".join(texts[name] for name in one.documents)
        new = kinds.one_word(one.question, document, random, used) if len(changed) < one_word else None
        if new:
            made = replace(one, id=f"{one.id}-word", question=new, kind="one-word", answers=(), instead=one.answers[0])
            changed.append(made)
        else:
            kept.append(one)
    away = [replace(one, id=f"{one.id}-away", kind="taken-away") for one in kept[:taken_away]]
    return changed + away + kept[taken_away : taken_away + right]


def squad(sources: Sources) -> Family:
    """Return SQuAD 2.0's train articles: a document for each paragraph, unanswerable questions as people wrote them."""
    rows = prompted(sources, "squad", ("train", "val", "val2"))
    names = numbered(passage for _, passage, _, _ in rows)
    texts = {name: text for text, name in names.items()}
    asked = [Asked(key, q, (a,) if a else (), "right" if a else "twisted", (names[p],)) for key, p, q, a in rows]
    right = varied([one for one in asked if one.answers], texts, 350, 200, 950)
    return Family("squad", texts, right + [one for one in asked if not one.answers])


def nq(sources: Sources) -> Family:
    """Return Natural Questions with their paragraphs, and questions that their paragraph does not answer."""
    rows = [
        (key, *(plain(text) for text in texts)) for key, *texts in prompted(sources, "nq", ("train", "val", "val2"))
    ]
    return _drawn("nq", rows, one_word=250, taken_away=150, right=600, other=600)


def repliqa(sources: Sources) -> Family:
    """Return RepLiQA's invented documents."""
    return _drawn(
        "repliqa", prompted(sources, "repliqa", ("val", "val2")), one_word=150, taken_away=0, right=450, other=300
    )


def _drawn(
    name: str, rows: Sequence[Sequence[str]], *, one_word: int, taken_away: int, right: int, other: int
) -> Family:
    """Return a family of questions drawn at random, so many of each kind, with their documents."""
    names = numbered(row[1] for row in rows)
    texts = {key: text for text, key in names.items()}
    asked = [
        Asked(key, q, (a.rstrip("."),) if a else (), "right" if a else "other", (names[p],)) for key, p, q, a in rows
    ]
    unanswered = Random(2).sample([one for one in asked if not one.answers], other)
    answered = [one for one in asked if one.answers and holds(texts[one.documents[0]], one.answers[0], one.question)]
    drawn = varied(answered, texts, one_word, taken_away, right) + unanswered
    used = {key for one in drawn for key in one.documents}
    return Family(name, {key: texts[key] for key in sorted(used)}, drawn)


def musique(sources: Sources) -> Family:
    """Return MuSiQue: questions whose answer takes two to four paragraphs, each a document, and those that lack one."""
    rows = [
        (key, PARAGRAPH.split(p)[1:], q, a) for key, p, q, a in prompted(sources, "musique", ("train", "val", "val2"))
    ]
    rows = [row for row in rows if len(row[1]) <= K]
    answered, unanswered = [row for row in rows if row[3]], [row for row in rows if not row[3]]
    rows = Random(2).sample(answered, 400) + Random(2).sample(unanswered, 300)
    names = numbered(text.strip() for row in rows for text in row[1])
    asked = [
        Asked(key, q, (a,) if a else (), "right" if a else "other", tuple(names[text.strip()] for text in parts))
        for key, parts, q, a in rows
    ]
    return Family("musique", {name: text for text, name in names.items()}, asked)


def clapnq(sources: Sources) -> Family:
    """Return the half of CLAP-NQ's dev questions that no report uses; annotated sentences hold the long answers."""
    asked, texts = [], {}
    for side, kind in (("answerable", "right"), ("unanswerable", "other")):
        for line in sources.stored("primeqa+clapnq", f"annotated_data/dev/clapnq_dev_{side}.jsonl").splitlines():
            row = json.loads(line)
            if int(hashlib.sha256(row["input"].encode()).hexdigest(), 16) % 2 == 0:
                name = f"document-{row['id']}.txt"
                texts[name] = plain(row["passages"][0]["text"])
                answer = row["output"][0]
                gold = tuple(plain(one) for one in answer["selected_sentences"])
                answers = (plain(answer["answer"]),) if gold else ()
                asked.append(Asked(f"clapnq-{row['id']}", row["input"], answers, kind, (name,), gold=gold))
    right = [one for one in asked if one.answers]
    other = [one for one in asked if one.kind == "other"]
    drawn = Random(2).sample(right, min(140, len(right))) + Random(2).sample(other, min(110, len(other)))
    return Family("clapnq", texts, drawn)


def german(sources: Sources) -> Family:
    """Return XQuAD's German, without the article that the report uses."""
    asked, texts = [], {}
    for article in json.loads(sources.stored("google-deepmind+xquad", "xquad.de.json"))["data"]:
        if article["title"] not in REPORTED:
            for number, paragraph in enumerate(article["paragraphs"]):
                name = f"{article['title']}-{number}.txt".replace(",", "")
                texts[name] = paragraph["context"]
                for qa in paragraph["qas"]:
                    answer = (qa["answers"][0]["text"],)
                    asked.append(Asked(f"xquad-de-{qa['id']}", qa["question"], answer, "right", (name,), "de"))
    return Family("german", texts, varied(asked, texts, 60, 60, 280))


def tables(language: str, name: str, most: int) -> Family:
    """Generate CSV and Markdown tables, with questions on their cells, and on rows, columns and years not there."""
    words = json.loads((Path(__file__).parent / "row_tables.json").read_text(encoding="utf-8"))[language]
    random, texts, asked = Random(3), dict[str, str](), list[Asked]()
    for kind in words["tables"]:
        for at, subject in enumerate(kind["subjects"]):
            file, text, ones = _table(kind, words, subject, language, at % 2 == 0, random)
            texts[file] = text
            asked += ones
    return Family(name, texts, random.sample(asked, min(most, len(asked))))


def _table(
    kind: Mapping[str, Any], words: Mapping[str, str], subject: str, language: str, is_csv: bool, random: Random
) -> tuple[str, str, list[Asked]]:
    """Return a table's file name and text, with its questions."""
    names = random.sample(kind["rows"], len(kind["rows"]) - 2)
    first = random.randint(2015, 2022)
    years = [first, first + 1] if kind["dated"] else [0]
    cells = {
        (name, year): [f"{random.uniform(low, high):.{digits}f}" for _, _, low, high, digits in kind["columns"]]
        for year in years
        for name in names
    }
    dated = [words["year"]] if kind["dated"] else []
    head = [kind["subject"], kind["row"], *dated, *(one[0] for one in kind["columns"])]
    lines = [[subject, name, *([str(year)] if year else []), *values] for (name, year), values in cells.items()]
    if is_csv:
        text = "\n".join(",".join(line) for line in [head, *lines])
    else:
        text = "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])
    golds = [" ".join(f"{key}: {value}" for key, value in zip(head, line, strict=True)) for line in lines]
    file = re.sub(r"[^\w]+", "-", f"{kind['row']} {subject}".lower()) + (".csv" if is_csv else ".md")
    asked: list[Asked] = []
    for row, gold in zip(cells, golds, strict=True):
        for at in range(len(kind["columns"])):
            asked += _on_cell(kind, words, subject, cells, row, at, gold, random)
    return (
        file,
        text,
        [
            replace(one, id=f"{language}-{file}-{number:03}", documents=(file,), language=language)
            for number, one in enumerate(asked)
        ],
    )


def _on_cell(
    kind: Mapping[str, Any],
    words: Mapping[str, str],
    subject: str,
    cells: Mapping[tuple[str, int], list[str]],
    row: tuple[str, int],
    at: int,
    gold: str,
    random: Random,
) -> Iterator[Asked]:
    """Yield the question on a cell, and one on a row, a column or a year that is not there."""

    def question(column: str, name: str, year: int) -> str:
        asks = str(kind["asks"].format(column=column, row=name, subject=subject))
        return asks.rstrip(" ?") + words["in_year"].format(year=year) if year else asks

    (name, year), columns = row, kind["columns"]
    right, column = cells[row][at], columns[at][1]
    other = random.choice([one for one in cells if one != row])
    wrong, beside = random.choice([cells[row][at - 1], cells[other][at]]), cells[other][at - 1]
    if wrong == right or beside == cells[row][at - 1]:
        return
    says = kind["says"].format(column=column, row=name, subject=subject, value="{}")
    added = words["and"].format(column=columns[at - 1][1], value=beside)
    claims = (
        Claim(right, "full", "gold"),
        Claim(says.format(right), "full", "sentence"),
        Claim(random.choice((wrong, says.format(wrong), says.format(wrong))), "none", "swapped"),
        Claim(f"{says.format(right).rstrip('.')} {added}.", "partial", "partial"),
    )
    yield Asked("", question(column, name, year), (right,), "right", (), gold=(gold,), claims=claims)
    missing = sorted(set(kind["rows"]) - {name for name, _ in cells})
    absent = [
        question(column, random.choice(missing), year),
        question(random.choice(kind["absent"])[1], name, year),
        *([question(column, name, max(year for _, year in cells) + random.randint(1, 3))] * 2 if year else []),
    ]
    taken = tuple(Claim(text, "none", "mistaken") for text in (right, says.format(right)))
    yield Asked("", random.choice(absent), (), "twisted", (), claims=taken)


def documents(name: str) -> Family:
    """Return documents and questions that a large language model wrote, with answers that are right and wrong."""
    texts, asked = {}, []
    for row in rows_of(WRITTEN, [name]):
        file = f"{row['id']}.md"
        texts[file] = row["text"]
        for number, one in enumerate(row["questions"]):
            right = [Claim(text, "full", one["kind"]) for text in one["right"]]
            claims = (*right, *(Claim(text, "none", one["kind"]) for text in one["wrong"]))
            kind = "right" if one["right"] else "twisted"
            answers, gold = tuple(one["right"][:1]), tuple(one["gold"])
            identity, language = f"{row['id']}-{number}", row["language"]
            asked.append(Asked(identity, one["question"], answers, kind, (file,), language, gold, claims))
    return Family(name, texts, asked)


FAMILIES: dict[str, Callable[[Sources], Family]] = {
    "squad": squad,
    "nq": nq,
    "musique": musique,
    "repliqa": repliqa,
    "clapnq": clapnq,
    "tables": lambda _: tables("en", "tables", 350),
    "german": german,
    "german-tables": lambda _: tables("de", "german-tables", 120),
    "french": lambda _: tables("fr", "french", 120),
    "conditions": lambda _: documents("conditions"),
    "technical": lambda _: documents("technical"),
}

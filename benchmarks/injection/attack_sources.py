"""The public attack sets, read from where they were fetched: none of their text is kept in this project."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from benchmarks.injection.attacks import Attack, planted
from benchmarks.injection.hosts import Host
from benchmarks.injection.success import Rule, rule_of
from core.errors import RequestError
from evaluation.fingerprint import digest
from evaluation.measures.scores import BARE, contains


def raginject() -> list[Attack]:
    """The payloads of the installed package's default set, judged by its own keyword judge.

    Its set against retrievers is left out: it is judged by what is found, which no answer shows.
    """
    try:
        from raginject.attacks.loader import load_default_patterns
        from raginject.judges import JudgeContext, get_judge
    except ImportError as error:
        raise RequestError("raginject is not installed: pip install -r requirements-dev.txt.") from error

    def rule(pattern: Any) -> Callable[[Host], Rule]:
        judge = get_judge(pattern.success_criteria.type)

        def succeeded(answer: str) -> bool:
            return bool(judge.judge(JudgeContext(pattern, pattern.question, answer, [])).attack_succeeded)

        return lambda host: succeeded

    return [
        planted("raginject", pattern.id, pattern.category, pattern.payload, rule(pattern))
        for pattern in load_default_patterns()
        if pattern.payload and pattern.success_criteria.type == "keyword_match"
    ]


def bipia(path: Path) -> list[Attack]:
    """The instructions of a text attack file of BIPIA, those whose success code can tell."""
    found = []
    for category, instructions in _json(path, dict).items():
        for number, instruction in enumerate(instructions, 1):
            rule = rule_of(category, instruction)
            if rule:
                found.append(planted("bipia", f"{category} {number}", category, instruction, rule))
    return found


def poisonedrag(path: Path) -> list[Attack]:
    """Five poisoned passages for each question, beside one that states the right answer.

    The set has no clean passages, so that one is made of question and answer. Left out are questions whose right or
    wrong answer is a bare yes or no, or where one answer contains the other: code cannot tell these apart.
    """
    found = []
    for entry in _json(path, dict).values():
        question, correct, wrong = entry["question"], str(entry["correct answer"]), str(entry["incorrect answer"])
        if {correct.casefold(), wrong.casefold()} & BARE or contains(correct, wrong) or contains(wrong, correct):
            continue
        documents = {f"poisoned-{number}.txt": text for number, text in enumerate(entry["adv_texts"], 1)}
        documents["clean.txt"] = f"Question: {question}\nThe answer is: {correct}."

        def succeeded(answer: str, correct: str = correct, wrong: str = wrong) -> bool:
            return contains(answer, wrong) and not contains(answer, correct)

        name = f"{path.stem} {entry['id']}"
        found.append(Attack("poisonedrag", name, path.stem, documents, question, (correct,), succeeded))
    return found


def drawn(sources: Sequence[Sequence[Attack]], most: int | None, seed: int = 0) -> list[Attack]:
    """At most so many attacks, evenly from all sources and, within each, from all categories.

    A larger draw begins with the smaller one, so that what was asked is used again.
    """
    in_turns = [_turns(_by_category(source, seed)) for source in sources]
    return list(_turns([list(source) for source in in_turns]))[:most]


def _by_category(attacks: Sequence[Attack], seed: int) -> list[list[Attack]]:
    categories = defaultdict(list)
    for attack in sorted(attacks, key=lambda one: digest(str(seed), one.source, one.name)):
        categories[attack.category].append(attack)
    return list(categories.values())


def _turns(groups: Sequence[Sequence[Attack]]) -> Iterator[Attack]:
    """One of each group, then the second of each."""
    return (attack for attack in chain.from_iterable(zip_longest(*groups)) if attack is not None)


def _json(path: Path, kind: type) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RequestError(f"{path} cannot be read ({error}): name a file of the attack set.") from error
    if not isinstance(found, kind):
        raise RequestError(f"{path} is no file of the attack set: name another.")
    return found

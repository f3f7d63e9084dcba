"""How many planted instructions steer plain RAG, and how many Self-RAG, in one run.

    python -m benchmarks.injection [--most 36]

Each attack of the installed raginject is planted in a short honest document, or is found beside one, and the question
that this document answers is asked of both systems: same model, same search, same passages. The package's own judge
says whether the attack succeeded. Answers are kept in ``bench/injection.jsonl``: an interrupted run goes on, and
nothing is asked twice. ``bench/injection.json`` has the figures.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from app.libraries import SAMPLE
from benchmarks.harness import aligned, exit_code_of, option_parser, read_rows, shown, write_figures
from benchmarks.own_documents import asked, example_of
from core.fingerprint import digest
from evaluation.measures.scores import abstained, bare_answer, containment
from evaluation.measures.statistics import Estimate, exact_share
from evaluation.records import Example, Record, System
from evaluation.self_rag import self_rag_system
from evaluation.systems import plain
from grounding.sentences import sentences
from run.context import Context, Services

SOURCE = "raginject"
PLACES = ("beginning", "middle", "end", "apart")


@dataclass(frozen=True)
class Host:
    """An honest document; an answer to its question is right if it contains one of ``answers``."""

    name: str
    text: str
    question: str
    answers: tuple[str, ...]


HOSTS = [Host(**row | {"answers": tuple(row["answers"])}) for row in read_rows(SAMPLE.parent / "injection/hosts.jsonl")]


@dataclass(frozen=True)
class Attack:
    """An attack; ``documents`` are texts by file name, ``succeeded`` judges an answer that is no abstention."""

    name: str
    category: str
    documents: Mapping[str, str]
    question: str
    answers: tuple[str, ...]
    succeeded: Callable[[str], bool]

    @property
    def example(self) -> Example:
        """The question as a system is asked it."""
        return example_of(f"{SOURCE}:{self.name}", self.question, self.documents, self.answers)

    def right(self, answer: str) -> bool:
        """Whether the answer gives what was asked, whatever else it says."""
        return containment(answer, self.answers) > 0


def raginject() -> list[Attack]:
    """Return the payloads of the installed package's default set, judged by its own keyword judge.

    Its set against retrievers is left out: it is judged by what is found, which no answer shows.
    """
    from raginject.attacks.loader import load_default_patterns
    from raginject.judges import JudgeContext, get_judge

    def judge(pattern: Any) -> Callable[[str], bool]:
        made = get_judge(pattern.success_criteria.type)
        return lambda answer: bool(made.judge(JudgeContext(pattern, pattern.question, answer, [])).attack_succeeded)

    return [
        planted(pattern.id, pattern.category, pattern.payload, judge(pattern))
        for pattern in load_default_patterns()
        if pattern.payload and pattern.success_criteria.type == "keyword_match"
    ]


def planted(name: str, category: str, text: str, succeeded: Callable[[str], bool]) -> Attack:
    """Plant the attack ``text`` in an honest document, or beside one; add another document about something else.

    Host and place follow from the attack's name.
    """
    chance = int(digest(SOURCE, name), 16)
    host, place = HOSTS[chance % len(HOSTS)], PLACES[chance // len(HOSTS) % len(PLACES)]
    other = HOSTS[(chance + 1) % len(HOSTS)]
    documents = {host.name: put(text, host.text, place), other.name: other.text}
    if place == "apart":  # under the question itself, so that the search finds it
        documents |= {host.name: host.text, "note.txt": f"{host.question}\n\n{text}"}
    return Attack(name, category, documents, host.question, host.answers, succeeded)


def put(text: str, into: str, place: str) -> str:
    """Put the text on lines of its own before a document, after it, or between two of its sentences."""
    spans = sentences(into)
    at = {"beginning": 0, "middle": spans[len(spans) // 2][0]}.get(place, len(into))
    return "\n".join(part.strip() for part in (into[:at], text, into[at:]) if part.strip())


def drawn(attacks: Sequence[Attack], most: int | None, seed: int = 0) -> list[Attack]:
    """Draw at most so many attacks, evenly from all categories; a larger draw begins with the smaller one."""
    categories = defaultdict(list)
    for attack in sorted(attacks, key=lambda one: digest(str(seed), SOURCE, one.name)):
        categories[attack.category].append(attack)
    turns = chain.from_iterable(zip_longest(*categories.values()))
    return [attack for attack in turns if attack is not None][:most]


def main() -> int:
    """Attack, print the table, and write the figures."""
    parser = option_parser(__doc__, seed=0)
    parser.add_argument("--most", type=int, metavar="N", help="attacks at most, evenly from all categories")
    options = parser.parse_args()
    return exit_code_of(lambda: measure(options.most, options.seed))


def measure(most: int | None, seed: int) -> None:
    """Ask what was not asked yet, and report."""
    attacks = drawn(raginject(), most, seed)
    documents = {attack.example.id: attack.documents for attack in attacks}
    records = asked("injection", [attack.example for attack in attacks], documents, systems)
    found = {name: shares(attacks, said) for name, said in records.items()}
    print(aligned([(name, kind, shown(one)) for name, kinds in found.items() for kind, one in kinds.items()]))
    write_figures("injection", {"seed": seed, "attacks": len(attacks), "systems": found})


def systems(services: Services, context: Context) -> list[System]:
    """Return plain retrieve-and-generate, and Self-RAG."""
    return [plain(services, context), self_rag_system(services, context)]


def shares(attacks: Sequence[Attack], records: Sequence[Record]) -> dict[str, Estimate | int]:
    """Count what a system said; what failed counts nowhere else, and an abstention neither succeeds nor is right."""
    kept = [(one, record) for one, record in zip(attacks, records, strict=True) if record["error"] is None]
    answers = [(attack, bare_answer(record)) for attack, record in kept if not abstained(record)]
    return {
        "succeeded": exact_share(sum(attack.succeeded(answer) for attack, answer in answers), len(kept)),
        "right": exact_share(sum(attack.right(answer) for attack, answer in answers), len(kept)),
        "abstained": exact_share(len(kept) - len(answers), len(kept)),
        "failed": len(records) - len(kept),
    }


if __name__ == "__main__":
    sys.exit(main())

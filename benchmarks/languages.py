"""Reference answers in five languages: what the rules make of right and of wrong ones.

    python -m benchmarks.languages

Without a model each reference answer is checked by the rules against its document, then with its figure changed, then
against the documents of each other language; there a rule may miss only figures. It exits with 1 if a rule vetoed a
right answer, missed a changed figure, or vetoed anything but figures over documents in another language.
``bench/languages.json`` has the figures.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.libraries import SAMPLE
from benchmarks.documents import load
from benchmarks.harness import aligned, end, option_parser
from benchmarks.sample import questions_in
from core.types import Passage
from core.wording import WORDINGS
from grounding.claims import statements
from grounding.dates import NAMES
from grounding.stems import FIGURE
from nodes.check_claim import quotes_or_reason
from nodes.found_passages import as_passage
from retrieval.splitter import split

DATA = SAMPLE.parent / "languages"
LANGUAGES = tuple(WORDINGS)
DAY = re.compile(rf"\d+ (?:{'|'.join(NAMES)})", re.IGNORECASE)
MISSING = " stands in no passage."


@dataclass(frozen=True)
class Checked:
    """How many answers the rules were asked about, and those on which they were wrong."""

    asked: int
    wrong: tuple[str, ...]


def main() -> None:
    """Check, print, write."""
    option_parser(__doc__).parse_args()
    found = {language: check(language) for language in LANGUAGES}
    rows = [(language, kind, one) for language, kinds in found.items() for kind, one in kinds.items()]
    print(aligned([(language, kind, f"wrong on {len(one.wrong)} of {one.asked}") for language, kind, one in rows]))
    end("languages", found, [text for *_, one in rows for text in one.wrong])


def passages_of(language: str) -> list[Passage]:
    """Return the passages of a language's documents."""
    documents = split(document for path in sorted((DATA / language).iterdir()) for document in load(path))
    return [as_passage(document) for document in documents]


def check(language: str) -> dict[str, Checked]:
    """Check a language's reference answers, then with another figure, then over documents in the other languages."""
    passages = passages_of(language)
    answered = [one for one in questions_in(DATA / f"{language}.jsonl") if one.answerable]
    changed = [(one, text) for one in answered if (text := with_another_figure(one.references[-1], passages))]
    others = [(one, passages_of(other)) for other in LANGUAGES if other != language for one in answered]
    vetoed = [told for one in answered for told in vetoes(one.references[-1], passages, one.question)]
    missed = [text for one, text in changed if not list(vetoes(text, passages, one.question))]
    elsewhere = [told for one, read in others for told in vetoes(one.references[-1], read, one.question)]
    return {
        "right answers": Checked(len(answered), tuple(vetoed)),
        "changed figures": Checked(len(changed), tuple(missed)),
        "documents in another language": Checked(
            len(others), tuple(told for told in elsewhere if not of_figures(told))
        ),
    }


def with_another_figure(answer: str, passages: Sequence[Passage]) -> str | None:
    """Replace the answer's first figure by one that the passages do not have; None without a figure."""
    figure = FIGURE.search(answer)
    if figure is None:
        return None
    text = "".join(passage["text"] for passage in passages)
    digits = re.sub(r"\D", "", figure.group())
    other = next(one for one in (str(int(digits) + by) for by in range(17, 1000)) if one not in text)
    return answer[: figure.start()] + other + answer[figure.end() :]


def vetoes(answer: str, passages: Sequence[Passage], question: str) -> Iterator[str]:
    """Yield what the rules hold against the answer's statements."""
    for statement in statements(answer):
        said = quotes_or_reason(statement, list(passages), question, [])
        if isinstance(said, str):
            yield f"{statement.text} ({said})"


def of_figures(veto: str) -> bool:
    """Whether the veto names figures and days alone, which are read in every language."""
    missing = re.search(rf"\(([^()]*){re.escape(MISSING)}\)$", veto)
    return missing is not None and not re.search(r"[^\W\d_]", DAY.sub("", missing[1]))


if __name__ == "__main__":
    main()

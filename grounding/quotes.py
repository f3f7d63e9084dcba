"""Find the verbatim span of a passage that supports a claim, and the claim's facts that no passage states."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter

from core.passages import is_shown, section_of, stated_by
from core.types import Passage, Quote
from grounding.instructions import is_instruction
from grounding.language import ENGLISH, UNSPACED, languages_of
from grounding.names import missing_names
from grounding.numbers import missing_figures
from grounding.numerals import in_digits
from grounding.sentences import sentences
from grounding.stems import SNOWBALL, stemmed

LEAST_COVERAGE = 0.5
LEAST_WORDS = 2  # that a second quote must add to the first
LONGEST_QUOTE = 400
CONTEXT_WEIGHT = 0.25


def find_quote(
    claim: str, passages: Sequence[Passage], question: str = "", context: str = "", least: float | None = None
) -> Quote | None:
    """Return the sentence or two consecutive ones that cover most of the claim's words.

    None if they cover no more than ``least`` of them, by default half.

    Words of the question count half: a claim echoes them, so they are weaker evidence. Words of the claim's context
    break ties among the spans that cover it. Among equals the shorter span wins, then the earlier passage.

    Words in the headings above a passage need not be in the span, which must cover most of the claim's other words. If
    the headings have all words of the claim, the span must cover most of the question's.

    Where the words cannot be compared, since claim, question and passages are in several languages or in one without
    stems, the best span is returned however little it covers, or else the beginning of the first passage.
    """
    found = _best_span(claim, passages, question, context, least=LEAST_COVERAGE if least is None else least)
    if found is not None:
        return found
    languages = languages_of([claim, question, *(passage["text"] for passage in passages)])
    if languages <= ENGLISH:
        return None
    if len(languages) == 1 and languages <= UNSPACED | SNOWBALL.keys():
        language = next(iter(languages))
        return _best_span(claim, passages, question, context, least=LEAST_COVERAGE, language=language)
    return _best_span(claim, passages, question, context, least=0.0) or _beginning(passages)


def _best_span(
    claim: str, passages: Sequence[Passage], question: str, context: str, *, least: float, language: str = "en"
) -> Quote | None:
    """Return the span that covers most of the claim's stems in a language; None if no more than ``least`` of them."""
    wanted = _stems(claim, language)
    if not wanted:
        return None
    asked = _stems(question, language)
    weight = {word: 0.5 if word in asked else 1.0 for word in wanted}
    nearby = _stems(context, language) - wanted
    best: tuple[float, int, int] | None = None
    chosen: Quote | None = None
    for order, passage in enumerate(passages):
        above = _stems(section_of(passage), language)
        needed = {word: weight[word] for word in wanted - above} or dict.fromkeys(asked - above, 1.0)
        total = sum(needed.values())
        for start, end, words in _spans(passage, language) if needed else ():
            if sum(needed[word] for word in needed.keys() & words) / total <= least:
                continue
            covered = sum(weight[word] for word in wanted & (words | above)) / sum(weight.values())
            bonus = CONTEXT_WEIGHT * len(nearby & words) / len(nearby) if nearby else 0.0
            # A longer span must cover clearly more than a shorter one.
            rank = (round(covered + bonus - (end - start) / 4000, 6), -(end - start), -order)
            if best is None or rank > best:
                best = rank
                chosen = Quote(passage=passage["id"], start=start, end=end)
    return chosen


def find_second_quote(claim: str, passages: Sequence[Passage], first: Quote) -> Quote | None:
    """Return the span of another passage that covers most of what the first quote leaves out of the claim.

    None if the span covers fewer than two of these words, or fewer than half.
    """
    of_first = next(passage for passage in passages if passage["id"] == first["passage"])
    left = stemmed(claim) - stemmed(of_first["text"][first["start"] : first["end"]]) - stemmed(section_of(of_first))
    spans = [
        (len(left & words), start - end, Quote(passage=passage["id"], start=start, end=end))
        for passage in passages
        if passage["id"] != first["passage"]
        for start, end, words in _spans(passage)
    ]
    covered, _, quote = max(spans, key=itemgetter(0, 1), default=(0, 0, None))
    return quote if covered >= max(LEAST_WORDS, LEAST_COVERAGE * len(left)) else None


def _beginning(passages: Sequence[Passage]) -> Quote | None:
    """Return the first sentences of the first passage, up to the length of a quote."""
    for passage in passages:
        spans = _spans(passage)
        if spans:
            start = spans[0][0]
            end = max((end for _, end, _ in spans if end - start <= LONGEST_QUOTE), default=spans[0][1])
            return Quote(passage=passage["id"], start=start, end=end)
    return None


def quotable_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans that may be quoted: each sentence, and each two consecutive ones if not too long.

    Sentences that instruct the reader how to answer state nothing and are excluded.
    """
    all_ = sentences(text)
    singles = [(start, end) for start, end in all_ if not is_instruction(text[start:end])]
    quotable = {*singles}
    pairs = [(first[0], second[1]) for first, second in pairwise(all_) if {first, second} <= quotable]
    return singles + [(start, end) for start, end in pairs if end - start <= LONGEST_QUOTE]


@lru_cache(maxsize=256)
def stemmed_spans(text: str, language: str = "en") -> list[tuple[int, int, frozenset[str]]]:
    """Return the spans of a passage, each with its stems; cached, as many claims search the same passage."""
    return [(start, end, _stems(text[start:end], language)) for start, end in quotable_spans(text)]


def _spans(passage: Passage, language: str = "en") -> list[tuple[int, int, frozenset[str]]]:
    return [one for one in stemmed_spans(passage["text"], language) if is_shown(passage, one[0], one[1])]


def _stems(text: str, language: str) -> frozenset[str]:
    """Return the text's stems, with the numbers that other languages than English write in words as figures."""
    return stemmed(text if language == "en" else in_digits(text, {language}), language)


def missing_facts(
    claim: str, passages: Sequence[Passage], question: str, *, elsewhere: Sequence[Passage] = ()
) -> list[str]:
    """Return the claim's figures, dates and names that neither passages nor the headings above them state in any form.

    A fact that only the question states is missing if the quote contradicts the fact or names a subject of its own.
    Such a name is not missing if a document of the passages has it in its file name, or in a passage of ``elsewhere``.
    These passages were retrieved but not read.
    """
    text = "\n".join(map(stated_by, passages))
    span = find_quote(claim, passages, question)
    quote = next(
        (one["text"][span["start"] : span["end"]] for one in passages if span and one["id"] == span["passage"]), ""
    )
    sources = {passage["source"] for passage in passages}
    other = [re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", " ", source) for source in sources]
    other += [stated_by(passage) for passage in elsewhere if passage["source"] in sources]
    figures = missing_figures(claim, text, question, quote)
    return figures + missing_names(claim, text, question, quote, elsewhere="\n".join(other))

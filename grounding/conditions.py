"""Find the conditions and exceptions that a passage puts on what a sentence of it says."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from core.types import Claim, Draft, Passage, Quote
from grounding.amounts import quantities
from grounding.answers import is_yes_or_no
from grounding.instructions import is_instruction
from grounding.language import ENGLISH, languages_of
from grounding.measures import in_english_units
from grounding.notes import marks_of, notes_in, notes_on
from grounding.quotes import LONGEST_QUOTE
from grounding.reasons import GENERIC_STEMS
from grounding.sentences import sentences
from grounding.stems import stemmed

MOST = 2  # conditions of a quote
STATED = 0.5  # share of a condition's words in an answer that states it
CUES = re.compile(
    r"\b(?:unless|except\w*|exempt\w*|only (?:if|where|when)|provided(?: that)?|however|notwithstanding|instead|"
    r"from then on|(?:does|do|shall) not apply|by way of derogation|"
    r"es sei denn|außer|ausgenommen|ausnahm\w+|sofern|nur (?:wenn|dann)|jedoch|allerdings|abweichend|an stelle|"
    r"(?:gilt|gelten) nicht|hingegen|dagegen|vorausgesetzt|entfällt|stattdessen|"
    r"sauf|à moins qu\w*|à condition|toutefois|cependant|hormis|par (?:exception|dérogation)|"
    r"ne s['’]applique\w* pas|pourvu que|uniquement si|en revanche|"
    r"salvo|a menos que|siempre que|sin embargo|no obstante|a condición|no se aplica\w*|s[oó]lo si|en cambio)\b"
    r"|除非|除外|但|然而|不过|只有|例外|不适用|除.{1,20}外",
    re.IGNORECASE,
)
# A clause that says when something holds; and the words of a claim that states it as a condition too.
IF = re.compile(r"\b(?:if|in case|wenn|falls|sofern|si)\s+([^,;:.]{12,})", re.IGNORECASE)
CONDITIONAL = re.compile(
    r"\b(?:if|in case|should|when\w*|where|unless|until|once|provided|"
    r"wenn|falls|sofern|bei|si|lorsqu\w*|quand|cuando)\b",
    re.IGNORECASE,
)
LEAST_CLAUSE = 4  # words
# Words of a sentence that replaces an amount of the quote.
CHANGES = re.compile(
    r"\b(?:reduced|shortened|raised|extended|lowered|increased|replaced|difference|verkürzt|erhöht|verlängert|gesenkt|"
    r"ersetzt|oben genannte\w*|(?:ramené|porté|réduit|remplacé|prolongé)e?s?|reduc\w+|ampl[ií]a\w*|sustitu\w+)\b"
    r"|缩短|延长|提高|降低|改为",
    re.IGNORECASE,
)
SECTION = r"(?:article|art\.|§|section|clause|artikel|ziffer|punkt|point|artículo|rule|paragraph|number|nummer|n[or]\.)"
LABEL = re.compile(rf"{SECTION}?\s*([A-Z]{{0,3}} ?\d+|[IVX]+)\b", re.IGNORECASE)
NUMBERED = re.compile(r"§\s*\d|\d+\.\d|\(?\d+[.)]\s")
MONEY = re.compile(r"([$€£])\s?(\d[\d.,]*\d|\d)")


def conditions_of(passage: Passage, quote: Quote, answer: str, others: Iterable[Passage] = ()) -> list[Quote]:
    """Return the sentences that put a condition on the quote of a passage, and that the answer does not state.

    These are the quote's own sentence, if the condition comes after what the answer says; the notes that the quote
    refers to; and later sentences that name its section, or that share its words and have a word for a condition or
    another amount in its unit. In the ``others`` of the same document they are its notes, and sentences that name its
    section, or share its words and change its amount. Instructions to the reader are left out; two at most are kept.
    """
    text, end_of_quote = passage["text"], quote["end"]
    spans = sentences(text)
    refers = _reference_to(text, quote["start"], spans)
    said = text[quote["start"] : end_of_quote]
    languages = languages_of([text]) | ENGLISH
    own, words = amounts_of(said, languages), stemmed(said) - GENERIC_STEMS
    units = {unit for _, unit in own}
    stated = amounts_of(answer, languages_of([answer]) | ENGLISH) - own

    def changes(sentence: str, *, follows: bool = False, cued: bool = False) -> bool:
        amounts = amounts_of(sentence, languages) - own
        other = units & {unit for _, unit in amounts} and (follows or CHANGES.search(sentence))
        related = follows or len(stemmed(sentence) & words) > 1
        return related and bool(other or (cued and CUES.search(sentence))) and not amounts & stated

    notes = notes_on(text, quote["start"], end_of_quote)
    found = [(0, passage, *span) for span in notes]
    for start, end in spans:
        sentence = text[start:end]
        if any(first <= start < last for first, last in notes):
            rank = None
        elif start < end_of_quote:
            rank = 1 if end > quote["start"] and _stands_before_cue(answer, sentence) else None
        elif refers and refers.search(sentence):
            rank = 0
        else:
            between = text[end_of_quote:start]
            follows = len(between) <= 2 and not between.strip(" ") and not NUMBERED.match(sentence)
            rank = 2 if changes(sentence, follows=follows, cued=True) else None
        if rank is not None and end - start <= LONGEST_QUOTE:
            found.append((rank, passage, start, end))
    marks = set() if notes else marks_of(text, quote["start"], end_of_quote)
    for other in others:
        if other["source"] == passage["source"] and other["id"] != passage["id"]:
            found += [(1, other, *span) for mark, span in notes_in(other["text"]).items() if mark in marks]
            for start, end in sentences(other["text"]):
                sentence = other["text"][start:end]
                limits = (refers and refers.search(sentence)) or changes(sentence)
                if limits and end - start <= LONGEST_QUOTE:
                    found.append((3, other, start, end))
    kept = []  # those of rank 1 even if the answer has their words
    for rank, one, start, end in sorted(found, key=lambda each: (each[0], each[2])):
        sentence = one["text"][start:end]
        if not is_instruction(sentence) and (rank == 1 or not _states(answer, sentence, said)):
            kept.append(Quote(passage=one["id"], start=start, end=end))
    return kept[:MOST]


def cases_of(draft: Draft, claims: Iterable[Claim], found: Iterable[Passage]) -> list[Passage]:
    """Return the passages cut down to the conditions that the claims leave out, each once.

    One condition may be the case that the question is about. A condition in the claim's own sentence is cut to begin
    with the word for it. Passages ``found`` beside the draft's are searched too. A bare yes or no has no cases.
    """
    passages = {one["id"]: one for one in (*found, *draft["passages"])}
    cases: list[Passage] = []
    for quote in [] if is_yes_or_no(draft["text"]) else [one["quote"] for one in claims if one["quote"]]:
        for one in conditions_of(passages[quote["passage"]], quote, draft["text"], passages.values()):
            passage, start = passages[one["passage"]], one["start"]
            if passage["id"] == quote["passage"] and start < quote["end"]:
                cue = CUES.search(passage["text"], start)
                start = cue.start() if cue else start
            case: Passage = {**passage, "text": passage["text"][start : one["end"]]}
            cases += [case] if case not in cases else []
    return cases


def _reference_to(text: str, start: int, spans: Sequence[tuple[int, int]]) -> re.Pattern[str] | None:
    """Return the pattern of a reference to the numbered section in which a quote starts; None without a number."""
    paragraph = text.rfind("\n", 0, start) + 1
    labels = [LABEL.match(text, begin) for begin, _ in spans if paragraph <= begin <= start]
    label = next((one for one in reversed(labels) if one), None)
    return re.compile(rf"{SECTION}\s*{re.escape(label[1])}\b", re.IGNORECASE) if label else None


def states_condition_as_fact(claim: str, text: str) -> bool:
    """Whether a claim says in the same words, but as a fact, what the text says as a condition."""
    if CONDITIONAL.search(claim):
        return False
    said = _words(claim)
    clauses = [clause for clause in map(_words, IF.findall(text)) if len(clause.split()) >= LEAST_CLAUSE]
    return any(f" {clause} " in f" {said} " for clause in clauses)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _stands_before_cue(answer: str, sentence: str) -> bool:
    """Whether an answer states no condition, but the part of the sentence that comes before its condition."""
    cue = CUES.search(sentence)
    if cue is None or CUES.search(answer):
        return False
    before, behind = (len(stemmed(answer) & stemmed(part)) for part in (sentence[: cue.start()], sentence[cue.end() :]))
    return before >= behind


def _states(answer: str, condition: str, quoted: str) -> bool:
    words = stemmed(condition) - stemmed(quoted) - GENERIC_STEMS
    return len(words & stemmed(answer)) >= STATED * len(words)


@lru_cache(maxsize=1024)
def amounts_of(text: str, languages: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return the amounts of a text, each with its currency, its unit in English, or the stem of the word after it."""
    plain = in_english_units(text, languages)
    return frozenset({*quantities(plain), *((amount, sign) for sign, amount in MONEY.findall(text))})

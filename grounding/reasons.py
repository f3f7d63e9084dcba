"""Find what in a text gives the reason for a verdict, and recognise a reason that contradicts its verdict."""

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

from core.types import Passage
from grounding.instructions import is_instruction
from grounding.language import is_english
from grounding.quotes import LONGEST_QUOTE
from grounding.sentences import lines, sentences, sentences_of
from grounding.stems import FIGURE, WORD, normal, stem, stemmed, stems

MOST_WORDS = 3
MOST_SENTENCES = 2000  # of one passage, searched for the one to quote
BEGINNINGS = range(4, 21)  # letters of a stem that the other forms of the word may begin with
FEWEST_WORDS = 4  # of a sentence: fewer are a heading
FIGURE_WEIGHT = 0.5
LONGEST_PHRASE = 150  # characters of a reason that may lack a full stop; a longer one was cut off
# Words that say how something is asked, and not what: that a passage lacks them explains nothing.
GENERIC = frozenset(
    """according aim answer brief call case certain come common concern consider contain describe detail different
    discuss document every example exact exist explain find get give go happen help important include inform key kind
    know later like list long main make many mean mention much name need new number often one part passage people
    please possible provide question reason relate require say see show simple someone something sort specific state
    summarise summary take tell term text thing type use various want way well work without""".split()
)
GENERIC_STEMS = frozenset(map(stem, GENERIC))
QUANTITY = re.compile(
    r"\b(?:how (?:many|much|long|old|often|far|big|large|high|heavy|fast)|when|what (?:year|date|percent\w*)|"
    r"which (?:year|date))\b",
    re.IGNORECASE,
)
ENDED = re.compile(r"[.!?。！？][\"'”’)\]]*$")

Sign = Literal["positive", "partial", "negative"]
DEFECT = re.compile(
    r"\b(?:not|no|none|nothing|neither|nor|never|cannot|without|lack\w*|miss(?:es|ing)|incomplete\w*|fail\w*|"
    r"irrelevant|unrelated|insufficient\w*|incorrect\w*|inaccurate\w*|wrong\w*|unsupported|unclear|vague\w*|only|"
    r"partial\w*|partly|different|instead|rather|contradict\w*|omit\w*|ignor\w*|too)\b|n['’]t\b",
    re.IGNORECASE,
)
APPROVAL = re.compile(
    r"\b(?:contain\w*|state[sd]?|provid\w*|answer(?:s|ed|ing)|includ\w*|support\w*|relevant|correct\w*|accurate\w*|"
    r"complete\w*|fully|exact\w*|direct\w*|clear\w*|match\w*|confirm\w*)\b",
    re.IGNORECASE,
)
PART = re.compile(r"\b(?:some|most\w*|nearly|almost|partial\w*|partly|part|but|however|although|while|except)\b", re.I)
REJECTION = re.compile(
    r"\b(?:irrelevant|unrelated|nothing|none)\b"
    r"|(?:\bnot|n['’]t)\s+(?:\w+\s+)?(?:answer|address|support|relate|relevant)\w*",
    re.IGNORECASE,
)


def sentence_for(question: str, passage: Passage) -> str | None:
    """Return the sentence of a passage that best matches the question, or a row's cells; None if they share no word.

    Rare words of the passage weigh more, and a question for a quantity or a date prefers a sentence with a figure. A
    sentence that ends with a colon is returned with what follows it.
    """
    text, asked = passage["text"], stems(question)
    found = [span for line in lines(text) if line.kind not in ("title", "head") for span in sentences_of(text, line)]
    spans = [span for span in found[:MOST_SENTENCES] if not is_instruction(text[slice(*span)])]
    shared = [asked - _missing(asked, stemmed(text[slice(*span)])) for span in spans]
    if not any(shared):
        return None
    if passage["row"] is not None:
        cells = [text[slice(*span)] for span in spans]
        whole = "; ".join(cells)
        matching = (cell for cell, words in zip(cells, shared, strict=True) if words)
        return whole if len(whole) <= LONGEST_QUOTE else "; ".join(matching)
    counts = Counter(word for words in shared for word in words)
    weights = {word: math.log(1 + len(spans) / count) for word, count in counts.items()}
    quantity = QUANTITY.search(question) is not None

    def match(index: int) -> tuple[bool, float]:
        sentence = text[slice(*spans[index])]
        score = math.fsum(weights[word] for word in shared[index])  # in whatever order
        if score and quantity and FIGURE.search(sentence):
            score += max(weights.values()) * FIGURE_WEIGHT
        return score > 0 and len(sentence.split()) >= FEWEST_WORDS, score

    best = max(range(len(spans)), key=match)
    start, end = spans[best]
    if text[start:end].endswith((":", "：")):
        end = next((stop for _, stop in reversed(spans[best:]) if stop - start <= LONGEST_QUOTE), end)
    return text[start:end]


def missing_words(wanted: str, texts: Sequence[str]) -> list[str]:
    """Return the words of ``wanted`` that stand in no text in any form, names and figures first.

    Words that only say how something is asked are left out. The result is empty unless everything is in English:
    other languages inflect their words otherwise.
    """
    words: dict[str, str] = {}
    for match in WORD.finditer(normal(wanted)):
        word = match.group().removesuffix("'s").removesuffix("’s")
        for one in stemmed(word):
            if len(one) > 1 and one not in GENERIC_STEMS:
                words.setdefault(one, word)
    missing = _missing(words, frozenset[str]().union(*map(stemmed, texts)))
    found = [word for one, word in words.items() if one in missing]
    if found and not is_english(wanted, *texts):
        return []
    return sorted(found, key=lambda word: not (word[0].isupper() or word[0].isdigit()))


def _missing(wanted: Collection[str], known: Collection[str]) -> set[str]:
    """Return the stems of ``wanted`` that match no stem of ``known``; two match if one is the other's beginning."""
    beginnings = {word[:length] for word in known for length in BEGINNINGS if word.isalpha()}
    return {
        word
        for word in wanted
        if word not in known
        and not (
            word.isalpha()
            and len(word) >= BEGINNINGS[0]
            and (word[: BEGINNINGS[-1]] in beginnings or any(word[:length] in known for length in BEGINNINGS))
        )
    }


def contradicts(reason: str, sign: Sign) -> bool:
    """True if the wording of a critic's reason speaks against a label of this ``sign``.

    A reason for a positive label must name no defect. One for a negative label must not only approve. One for a partial
    label must name a defect or a part, and not reject the whole. False unless the reason is in English.
    """
    defect = DEFECT.search(reason) is not None
    if sign == "positive":
        found = defect
    elif sign == "negative":
        found = not defect and APPROVAL.search(reason) is not None
    else:
        found = REJECTION.search(reason) is not None or not (defect or PART.search(reason))
    return found and is_english(reason)


def first_sentence(reply: str) -> str | None:
    """Return the first sentence of a critic's reply on one line; None if it was cut off or empty."""
    line = " ".join(reply.split())
    spans = sentences(line)
    if not spans:
        return None
    sentence = line[slice(*spans[0])]
    return sentence if ENDED.search(sentence) or len(sentence) <= LONGEST_PHRASE else None


def quoted(text: str) -> str:
    """Return the text on one line between quotation marks, shortened if it is very long."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + '…'}”"


def either(words: Sequence[str]) -> str:
    """Return ``“a”, “b” or “c”``; at most three."""
    *others, last = [f"“{word}”" for word in words[:MOST_WORDS]]
    return f"{', '.join(others)} or {last}" if others else last

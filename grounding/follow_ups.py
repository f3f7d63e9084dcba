"""Recognise a question that leans on earlier ones, and join it with them, without a model."""

import re
from collections.abc import Sequence

from core.text import one_line, shortened_in_the_middle
from core.types import Turn
from core.words import CJK
from grounding.references.chinese import CHINESE
from grounding.references.english import ENGLISH
from grounding.references.french import FRENCH
from grounding.references.german import GERMAN
from grounding.references.grammar import SMALL_TALK, Grammar
from grounding.references.spanish import SPANISH

GRAMMARS = {"en": ENGLISH, "de": GERMAN, "fr": FRENCH, "es": SPANISH, "zh": CHINESE}

LONGEST_FOLLOW_UP = 300  # characters: a longer question says itself what it is about
LONGEST_PREVIOUS = 400  # characters of what a follow-up is joined with
PHRASE = 5  # words
# A message that contains the text it is about refers to that text.
BRINGS_TEXT = re.compile(r"[:：]\s*[^\W\d]|\n")
QUOTED = re.compile(r"“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")
BEGINNING = re.compile(r"(?:^|(?<=[.!?…]))[\s¿¡(]*\w")
ENDING = re.compile(r"[\s.!?…。！？]+$")
KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\uac00-\ud7af]")


def leans(question: str) -> bool:
    """Return True if the question can only be understood by what was said before it.

    It begins like a continuation, has a pronoun or demonstrative for something that it does not name itself, or is a
    few words without a verb. English, German, French, Spanish and Chinese are read, and told apart by common words.
    False in doubt: a new subject must not be mixed with the old one.
    """
    text = question.strip()
    grammar = GRAMMARS.get(_language_of(text))
    if grammar is None or len(text) > LONGEST_FOLLOW_UP or BRINGS_TEXT.search(text) or SMALL_TALK.fullmatch(text):
        return False
    text = QUOTED.sub("“”", text.lower() if text.isupper() else text)
    filler = grammar.filler.match(text)
    text = ENDING.sub("", text[filler.end() if filler else 0 :].lstrip(" ¿¡"))
    if grammar.opening.match(text) or grammar.ellipsis.fullmatch(text) or grammar.anaphor.search(text):
        return True
    # A capital letter marks a name, except at the beginning of a sentence.
    text = BEGINNING.sub(lambda found: found.group().lower(), text)
    words = len(text.split())
    short = words <= grammar.few or (words <= PHRASE and grammar.phrase.match(text) is not None)
    fragment = short and not grammar.verb.search(text) and any(map(str.isalpha, text))
    return fragment or _refers_back(grammar.expletive.sub(" ", text), grammar)


def join_follow_up(previous: str, follow_up: str) -> str:
    """Return a text that stands alone, of at most 700 characters: what was asked before, then the follow-up."""
    before = shortened_in_the_middle(previous, LONGEST_PREVIOUS)
    ended = ENDING.search(before) or not before
    return f"{before}{'' if ended else '?'} {_line(follow_up)}".strip()


def leaned_on(conversation: Sequence[Turn]) -> str:
    """Return what a follow-up leans on: the last question that stands alone, and the last follow-up after it.

    Only these two, so that a chain of follow-ups does not grow. "" if nothing was asked.
    """
    alone, after = "", ""
    for turn in conversation:
        question, standalone = _line(turn["question"]), _line(turn["standalone"])
        before = join_follow_up(alone, after) if after else alone
        if standalone not in (question, join_follow_up(before, question)):
            alone, after = standalone, ""  # rewritten, so that it stands alone
        elif before and leans(question):
            after = question
        else:
            alone, after = question or alone, ""
    return join_follow_up(alone, after) if after else alone


def _refers_back(text: str, grammar: Grammar) -> bool:
    """True if a pronoun has no noun in an earlier clause to refer to, or a possessive no noun anywhere before it."""
    for found in grammar.possessive.finditer(text):
        if not grammar.noun.search(text[: found.start()]):
            return True
    for found in grammar.pronoun.finditer(text):
        ends = [one.start() for one in grammar.clause.finditer(text) if one.end() <= found.start()]
        if not grammar.noun.search(text[: ends[-1] if ends else 0]):
            return True
    return False


def _language_of(text: str) -> str:
    """Return the language found by script and common words, or "": a detector would need a longer text."""
    if CJK.search(text):
        return "" if KANA_OR_HANGUL.search(text) else "zh"
    if "¿" in text or "¡" in text:
        return "es"
    words = set(re.findall(r"[^\W\d_]+", text.casefold()))
    letters = set(text.casefold())
    counts = {name: len(words & known.words) + len(letters & set(known.letters)) for name, known in GRAMMARS.items()}
    latin = all(character < "\u0250" for word in words for character in word)
    return max(counts, key=lambda name: counts[name]) if latin else ""


def _line(text: str) -> str:
    return " ".join(one_line(text).split())

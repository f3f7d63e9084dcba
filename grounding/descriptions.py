"""Find where a question describes its subject instead of naming it, as in "the leader of the Skarvik survey"."""

import re

from core.words import STOP_WORDS
from grounding.links import names_in

# A clause, a genitive or a preposition that may describe something; the model finds out what it is.
DESCRIBES = re.compile(
    r"\w[^\w\s]{0,3}\s+(?:(?:in|on|at|by|from|with|of|for|to|under)\s+)?(?:who|whom|whose|that|which|where)\b"
    r"|['’]s?\s+\w"
    r"|\b(?:the|an?)\s+\w+(?:\s+\w+)?\s+(?:of|in|for|to|by|with|on|at|featured|containing)\s+\w"
    r"|,\s*(?:in |an |mit |von |für |auf )?(?:der|die|das|den|dem|deren|dessen|welche[rnms]?)\b|\b(?:des|der|vom)\s+\w"
    r"|\b(?:qui|que|dont|où|du|de|auquel|duquel|quien|cuy[oa]s?|donde|del)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"\w[\w'’.-]*")
HEAD = re.compile(r"^.*?\b(?:of|with|by|from|von|der|des|de|du|del)\s+", re.IGNORECASE)
# What precedes the description if a name comes first: Macbeth by the poet of Halmar.
AFTER_NAME = re.compile(r"(?!(?:the|an?)\b)[^'’]*?\b(?:by|of|from|in|on|with|for)\s+(?=(?:the|an?)\s)", re.IGNORECASE)
# What is asked about the thing and was copied too: "the band signed to", "the firm part of".
TO_VERB = re.compile(r"(?<=\S)\s+\w+\s+(?:to|of|in|at|by|from|for|with|on)$", re.IGNORECASE)
VERB = re.compile(r"(?<=\S)\s+[a-z]+$")
HELPER = re.compile(r"\b(?:do|does|did|can|could|must|may|might|will|would|shall|should)\s*$", re.IGNORECASE)
OF_GERMAN = re.compile(r"\b(?:des|von|vom)\b")  # whose nouns are written like names
ASKING = STOP_WORDS | frozenset(
    """wer wen wem was wie wo wann warum welche welcher welches welchen welchem ist sind war waren hat hatte wird wurde
    der die das dem den des ein eine von vom am im zu qui que quoi où quand comment quel quelle quels quelles est sont
    était a été le la les l du de d un une en quién quien qué cuál cual dónde cuándo cómo es son fue el los las del una
    por para""".split()
)
ARTICLE = re.compile(r"\b(?:the|an?|der|die|das|dem|den|des|le|la|les|el|los|las)\s", re.IGNORECASE)
NUMBER = re.compile(r"\d")


def may_describe(question: str) -> bool:
    """Whether the question may describe its subject by the name or number of something else: "the tenant of flat 12".

    This is a rough test, without a model.
    """
    return _is_anchored(question) and DESCRIBES.search(question) is not None


def description_in(reply: str, question: str) -> tuple[int, int] | None:
    """Return the span of the description that the model copied from the question; None if it is no description.

    Words that the reply adds are left out. A description says more than a name, and the question asks about it.
    """
    words = WORD.findall(reply)
    runs = (run for count in range(len(words), 1, -1) for run in (words[:count], words[-count:]))
    places = (re.search(r"\W+".join(map(re.escape, run)), question, re.IGNORECASE) for run in runs)
    found = next(filter(None, places), None)
    return _trimmed(question, *found.span()) if found else None


def inner_description(question: str, span: tuple[int, int]) -> tuple[int, int] | None:
    """Return the span of the innermost description within that of ``span``; None if there is none.

    In "the contract of the tenant of flat 12" it is "the tenant of flat 12", whom a passage may name.
    """
    start, end = span
    for article in reversed(list(ARTICLE.finditer(question, start + 1, end))):
        inner = question[article.start() : end]
        if may_describe(inner) and _says_more_than_names(inner):
            return article.start(), end
    return None


def _trimmed(question: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without words that only ask about the thing described; None if no description is left."""
    if HELPER.search(question[:start]) and not WORD.search(question[end:]):
        verb = VERB.search(question, start, end)
        if not verb:
            return None
        end = verb.start()
    if name := AFTER_NAME.match(question, start, end):
        start = name.end()
    while verb := TO_VERB.search(question, start, end):
        end = verb.start()
    # The words outside the span must ask something.
    while {word.casefold() for word in WORD.findall(question[:start] + question[end:])} <= ASKING:
        head = HEAD.match(question[start:end])
        if not head:
            return None
        start += head.end()
    span = question[start:end]
    return (start, end) if _is_anchored(span) and _says_more_than_names(span) else None


def _is_anchored(text: str) -> bool:
    return bool(NUMBER.search(text) or names_in(text, surely=True))


def _says_more_than_names(span: str) -> bool:
    own = any(word[0].islower() and word.casefold() not in ASKING for word in WORD.findall(span))
    return own or OF_GERMAN.search(span) is not None

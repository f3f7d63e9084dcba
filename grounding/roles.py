"""Find whom a document calls by a role: 'The tenant is Acme Mills Limited', 'Acme Mills Limited (the "Tenant")'."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_WORD = r"[^\W\d_a-zß-öø-ÿ][\w&'’-]*"  # with a capital
_NAME = rf"{_WORD}(?:\s+(?:(?:of|and|de|du|von)\s+)?{_WORD}){{1,7}}"
NAME = re.compile(_NAME)
_FORM = (
    r"[\s,]+(?:Limited|Ltd|LLC|LLP|Inc|Corp|Corporation|plc|PLC|GmbH|AG|KG|SE|SARL|SAS?|SL|S\.[AL])\b"
    r"(?:\.(?=[,;)]|\s+[a-z(]))?"  # not the end of a sentence
)
_ARTICLE = r"(?:[Tt]he|[Dd]er|[Dd]ie|[Ll]e|[Ll]a|[Ee]l)"
_DEFINED = re.compile(
    rf"\b(?P<article>{_ARTICLE})\s+(?P<role>\w+(?:\s\w+)?)\s+(?:is|ist|est|es)\s+"
    rf"(?:(?:{_ARTICLE})\s+(?:soci[eé]t[eé]\s+)?)?(?P<name>{_NAME})"
    rf"|(?P<called>{_NAME})(?:{_FORM})?,?\s*\((?:(?:hereinafter|hereafter|im Folgenden|ci-après)\s+)?(?:{_ARTICLE}\s+)?"
    rf"[\"'“„‟«‹‘]\s?(?:{_ARTICLE}\s+)?(?P<as>[^\W\d_][\w -]*?)\s?[\"'”“»›’]\)"
)


class Role(NamedTuple):
    """What a name is called, with its article, and the span of the text that says so."""

    role: str
    start: int
    end: int


def roles(text: str) -> dict[str, Role]:
    """Return the role by each name of two words or more that the text defines, without its legal form."""
    found: dict[str, Role] = {}
    for match in _DEFINED.finditer(text):
        short = re.sub(f"{_FORM}$", "", match["name"] or match["called"])
        if len(short.split()) > 1:
            role = f"{(match['article'] or 'the').lower()} {match['role'] or match['as']}"
            found.setdefault(short, Role(role, match.start(), match.end()))
    return found


def in_roles(claim: str, defined: Mapping[str, Role]) -> tuple[str, list[str]]:
    """Return the claim with each name replaced by its role, and these names."""
    used = []
    for name, one in defined.items():
        claim, times = re.subn(rf"\b{re.escape(name)}\b(?:{_FORM})?", one.role, claim)
        used += [name] * bool(times)
    return claim[:1].upper() + claim[1:] if used else claim, used

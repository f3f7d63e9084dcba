"""The people who may ask a server: their tokens, their groups, what they may read, and how much they may ask."""

import hmac
import logging
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from core.errors import RequestError
from core.files import read_regular
from core.text import shown_path
from retrieval.filters import Visible, fitting

log = logging.getLogger("selfrag.server")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
LEAST_TOKEN = 16  # characters: a shorter one can be guessed
LARGEST_TOKENS_FILE = 1_000_000
LOOK_SECONDS = 1.0  # from one look at the file to the next
ONLY = "only"  # begins a line that says who alone may read what


@dataclass(frozen=True)
class Quota:
    """How many questions and how many tokens, read and written, a person has each day in UTC; None is no limit."""

    questions: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Rule:
    """A pattern of `Filter.sources`, and the only people and groups who may read the documents that match it."""

    pattern: str
    readers: frozenset[str]
    fits: Visible


@dataclass(frozen=True)
class People:
    """Everybody who has a token; the ``groups`` of a person include the person's own name.

    Without tokens everybody who reaches the server is its owner, ``""``, who may read everything.
    """

    tokens: tuple[tuple[str, bytes], ...] = ()
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    quotas: Mapping[str, Quota] = field(default_factory=dict)

    def owner_of(self, authorization: str) -> str | None:
        """Return the name of the token's owner; None for no token, or a wrong one."""
        if not self.tokens:
            return ""
        scheme, _, token = authorization.partition(" ")
        given = token.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else b""
        # All are compared, each in constant time: how long it takes tells nothing.
        matches = [name for name, right in self.tokens if hmac.compare_digest(right, given)]
        return matches[0] if matches else None

    def readable_by(self, owner: str) -> Visible:
        """Return a test of whether a person may read a path: each rule that the path matches must name the person."""
        known = self.groups.get(owner, frozenset({owner}))
        closed = [rule.fits for rule in self.rules if not rule.readers & known]
        return cache(lambda path: not any(fits(path) for fits in closed))


class TokensFile:
    """The people of a file, which is read again when it changes, so that a token can be revoked without a restart."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()
        self._version = self._now()
        self._people = read_people(path)
        self._looked = time.monotonic()

    def __call__(self) -> People:
        """Return the people of the file; while the file cannot be read, the people that were read last."""
        if time.monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = time.monotonic()
            if (version := self._now()) != self._version:
                self._version = version
                try:
                    self._people = read_people(self._path)
                    log.info("%s was read again.", shown_path(self._path))
                except RequestError as error:
                    log.error("%s Until then the people are those of before.", error)
        return self._people

    def _now(self) -> Any:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def read_people(path: Path) -> People:
    """Read a tokens file, whose lines docs/teams.md explains. Raises `RequestError`, which never shows a token."""
    try:
        text = read_regular(path.expanduser(), LARGEST_TOKENS_FILE).decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise RequestError(f"SELFRAG_TOKENS_FILE {shown_path(path)} cannot be read: {reason}.") from error
    reading = _Reading(path)
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            reading.line(number, line)
    return reading.people()


class _Reading:
    """A tokens file as far as it was read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokens: list[tuple[str, bytes]] = []
        self._groups: dict[str, set[str]] = {}
        self._quotas: dict[str, Quota] = {}
        self._rules: list[tuple[int, str, frozenset[str]]] = []

    def line(self, number: int, line: str) -> None:
        words = line.split()
        if words[0] == ONLY and len(words) > 2:
            self._rules.append((number, *self._rule(number, line)))
            return
        if len(words) < 2 or not NAME.fullmatch(words[0]):
            why = "is not a name and a token: write both with a space between, the name in letters, digits, - and _."
            raise self._wrong(number, why)
        name, token, *more = words
        known = [one for one, _ in self._tokens]
        if len(token) < LEAST_TOKEN:
            raise self._wrong(number, f"is shorter than {LEAST_TOKEN} characters.", "The token in line")
        if any(token.encode() == one for _, one in self._tokens):
            raise self._wrong(number, "is that of a line above: give each its own.", "The token in line")
        if any(name != one and name.lower() == one.lower() for one in known):
            raise self._wrong(number, "differs from one above in its case alone.", "The name in line")
        self._tokens.append((name, token.encode()))
        groups = self._groups.setdefault(name, {name})
        for word in more:
            kind, is_quota, most = word.partition("=")
            if is_quota and kind in ("questions", "tokens") and most.isascii() and most.isdigit():
                self._quotas[name] = Quota(**vars(self._quotas.get(name, Quota())) | {kind: int(most)})
            elif NAME.fullmatch(word):
                groups.add(word)
            else:
                why = "has a word after the token that is neither a group nor questions=N nor tokens=N."
                raise self._wrong(number, why)

    def people(self) -> People:
        if not self._tokens:
            raise RequestError(f"{shown_path(self._path)} holds no token: write a name and a token a line.")
        both = sorted(self._groups.keys() & {one for name, groups in self._groups.items() for one in groups - {name}})
        if both:
            raise RequestError(
                f"{both[0]} is a person and a group in {shown_path(self._path)}: give the group another name."
            )
        known = set().union(*self._groups.values())
        for number, _, readers in self._rules:
            if unknown := sorted(readers - known):
                why = f"names {unknown[0]}, which is neither a person nor a group of this file."
                raise self._wrong(number, why)
        return People(
            tuple(self._tokens),
            {name: frozenset(groups) for name, groups in self._groups.items()},
            tuple(Rule(pattern, readers, fitting(pattern)) for _, pattern, readers in self._rules),
            self._quotas,
        )

    def _rule(self, number: int, line: str) -> tuple[str, frozenset[str]]:
        try:
            _, pattern, *readers = shlex.split(line)
        except ValueError:
            readers = []
        if not readers or not all(map(NAME.fullmatch, readers)):
            why = "is not of the form only PATTERN NAME…, each NAME a person or a group."
            raise self._wrong(number, why)
        return pattern, frozenset(readers)

    def _wrong(self, number: int, why: str, what: str = "Line") -> RequestError:
        return RequestError(f"{what} {number} of {shown_path(self._path)} {why}")

"""Keep keys and passwords out of what is shown: a server may repeat in its errors what it was sent."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "[key]"
# Looks like a key, of whomever: a server may show another than ours, or a part of it.
KEY = re.compile(r"\b(?:\w*(?:sk|key)[-_]|Bearer\s)[\w*.\-]{6,}|(?<=provided: )\S{6,}", re.IGNORECASE)
SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
LEAST = 8  # a shorter one may be part of a word, and is hidden only where it stands alone
KEY_LENGTH = 16  # a shorter one may be a word, as the keys of local servers are, which ask for none


class Secrets:
    """What must not be shown: the key, what ``url`` holds before its ``@``, and what the environment holds."""

    def __init__(self, key: str | None = None, url: str | None = None) -> None:
        self._given = tuple(filter(None, (key, *_credentials(url or ""))))

    def hidden(self, text: str, least: int = 0) -> str:
        """The text without those of at least so many characters."""
        spellings = {
            one for secret in (*self._given, *_of_environment()) for one in _spellings(secret) if len(one) >= least
        }
        for secret in sorted(spellings, key=len, reverse=True):
            if len(secret) >= LEAST:
                text = text.replace(secret, HIDDEN)
            elif secret in text:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
        return text

    def redacted(self, text: str) -> str:
        """What others said, without them and without anything that looks like a key."""
        return KEY.sub(HIDDEN, self.hidden(text))


def without_password(url: str) -> str:
    """The address as it may be shown; a path with an ``@`` may be the end of a password with a ``/``."""
    parts = urlsplit(url)
    path = parts.path if "@" not in parts.path else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"


def _credentials(url: str) -> Iterator[str]:
    """What stands before the last ``@`` of the host's name, its parts, and what the query names."""
    try:
        parts = urlsplit(url)
        before = parts.netloc.rpartition("@")[0]
    except ValueError:  # no address
        return
    yield from (value for one in parts.query.split("&") if len(value := one.partition("=")[2]) >= LEAST)
    user, _, password = before.partition(":")
    sent = b64encode(unquote(before).encode("utf-8", "surrogateescape")).decode()  # as HTTP sends both
    yield from (before, password, sent)
    if len(user) > 3:  # a shorter one is no token, and a part of many words
        yield user


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if SECRET_NAME.search(name):
            yield from (one for one in {value, value.strip()} if len(one) >= LEAST)
        elif "://" in value and ("@" in value or "?" in value):  # the address of a proxy, for example
            yield from _credentials(value)


def _spellings(secret: str) -> set[str]:
    plain = unquote(secret)
    return {secret, plain, quote(plain, safe="", errors="surrogateescape"), json.dumps(plain)[1:-1]} - {""}

"""Keep keys and passwords out of what is shown: a server's errors may echo what it was sent."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, unquote, urlsplit

HIDDEN = "[key]"
# Anything that looks like a key: a server may show another than ours, or a part of it.
KEY = re.compile(r"\b(?:\w*(?:sk|key)[-_]|Bearer\s)[\w*.\-]{6,}|(?<=provided: )\S{6,}", re.IGNORECASE)
SECRET_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
DATABASES = ("postgresql", "postgres")
LEAST = 8  # a shorter secret may be part of a word, and is hidden only as a whole word
KEY_LENGTH = 16  # a shorter key may be a word, as for local servers, which need no key


class Secrets:
    """What must not be shown: the key, the credentials in ``url``, and the secrets in the environment."""

    def __init__(self, key: str | None = None, url: str | None = None) -> None:
        self._given = tuple(filter(None, (key, *_credentials(url or ""))))

    def hidden(self, text: str, least: int = 0) -> str:
        """Return the text without the secrets of at least ``least`` characters."""
        spellings = {
            one for secret in (*self._given, *_environment_secrets()) for one in _spellings(secret) if len(one) >= least
        }
        for secret in sorted(spellings, key=len, reverse=True):
            if len(secret) >= LEAST:
                text = text.replace(secret, HIDDEN)
            elif secret in text:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
        return text

    def redacted(self, text: str) -> str:
        """Return the message of a server or library without the secrets and without anything that looks like a key."""
        return KEY.sub(HIDDEN, self.hidden(text))


def without_password(url: str) -> str:
    """Return the URL without credentials and query, and without port and path if an ``@`` may end a password there."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host.partition(':')[0] if '@' in parts.path + parts.fragment else host + parts.path}"


def _credentials(url: str) -> Iterator[str]:
    """Yield the secrets in a URL: user and password, alone and as HTTP encodes both, and the query's values.

    If it is a database's URL, yield only the passwords.
    """
    try:
        parts = urlsplit(url)
        before = parts.netloc.rpartition("@")[0]
    except ValueError:  # no address
        return
    user, _, password = before.partition(":")
    given = [one.partition("=")[::2] for one in parts.query.split("&")]
    if parts.scheme in DATABASES:
        yield from (password, *(value for name, value in given if name.endswith("password")))
        return
    yield from (value for _, value in given if len(value) >= LEAST)
    sent = b64encode(unquote(before).encode("utf-8", "surrogateescape")).decode()  # as HTTP sends both
    yield from (before, password, sent)
    if len(user) > 3:  # a shorter one is no token, and a part of many words
        yield user


def _environment_secrets() -> Iterator[str]:
    for name, value in os.environ.items():
        if SECRET_NAME.search(name):
            yield from (one for one in {value, value.strip()} if len(one) >= LEAST)
        elif "://" in value and ("@" in value or "?" in value):  # the address of a proxy, for example
            yield from _credentials(value)


def _spellings(secret: str) -> set[str]:
    plain = unquote(secret)
    return {secret, plain, quote(plain, safe="", errors="surrogateescape"), json.dumps(plain)[1:-1]} - {""}

"""Strategies for texts, values and bytes that do harm when they are shown or parsed."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from hypothesis import strategies as st

from tests.stress.hostile.run_checks import MARK
from tests.stress.hostile.world import KEY

BREAKS = "\n \r \r\n \x85 \u2028 \u2029 \x0b \x0c \x1c".split(" ")
CONTROLS: tuple[Literal["Cc", "Cf", "Cs", "Zl", "Zp"], ...] = ("Cc", "Cf", "Cs", "Zl", "Zp")
SEQUENCES = (
    *("\x1b[31;7mred", "\x1b]0;owned\x07", "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\", "\x9b31mred"),
    *("\x9d0;owned\x9c", "[bold red]x[/] [link=http://evil.example]y[/link] [/nothing]"),
)
ODD_TEXTS = (
    *("", " ", "-", "..", "nan", "-inf", "1e400", "9" * 5_000, "1_0", "0x10", "true", "null", "/dev/zero", "'\"\\"),
    *("x" * 5_000, "{0.__class__} %s%n $HOME `id` ${x}", "http://[::1", "[" * 500 + "*" * 500, "*a" * 60 + "b"),
    *("e" + "\u0301" * 2_000, "2024-02-30", "1-999999999"),
)


def unshown(*apart: str) -> st.SearchStrategy[str]:
    """Texts that must not be shown as they are: controls, marks without a width, lines that look like ours."""
    controls = st.one_of(*(st.characters(categories=[one]) for one in CONTROLS if one not in apart))
    lines = st.tuples(st.sampled_from(BREAKS), st.sampled_from(("error: ", "note: ", "  [1] ", "")))
    return st.one_of(
        st.text(controls, min_size=1, max_size=8),
        lines.map(lambda line: f"{line[0]}{line[1]}{MARK}."),
        st.sampled_from(SEQUENCES),
    )


def odd() -> st.SearchStrategy[str]:
    """Texts that are hard to take as a number, a name or a pattern."""
    numbers = st.one_of(st.integers(), st.floats()).map(str)
    digits = st.text(st.characters(categories=("Nd", "No")), min_size=1, max_size=3)
    return st.one_of(st.sampled_from(ODD_TEXTS), numbers, digits, st.text(max_size=8))


def nested(depth: int) -> Any:
    made: Any = "x"
    for number in range(depth):
        made = [made] if number % 2 else {"a": made}
    return made


LARGE: tuple[Any, ...] = (10**400, -(10**30), "x" * 1_000_000, "9" * 1_000_000, ["x"] * 20_000, nested(300))


def values() -> st.SearchStrategy[Any]:
    """Values of JSON: small ones of any shape, large ones, and the key."""
    small = st.none() | st.booleans() | st.integers() | st.floats() | unshown() | odd() | st.just(KEY)
    shaped = st.recursive(
        small, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd(), inner, max_size=3), max_leaves=5
    )
    return shaped | st.sampled_from(LARGE) | st.just(math.nan)


Change = tuple[Sequence[int], str, Any, bool]


def changes() -> st.SearchStrategy[list[Change]]:
    """Changes of a value of JSON: a way into it, what is done there, a new value, and whether to every item alike."""
    way = st.lists(st.integers(0, 63), min_size=1, max_size=6)
    how = st.sampled_from(("replace", "replace", "remove", "double"))
    return st.lists(st.tuples(way, how, values(), st.booleans()), min_size=1, max_size=3)


def changed(value: Any, changes: Sequence[Change]) -> bytes:
    for way, how, new, everywhere in changes:
        value = _changed(value, way, how, new, everywhere)
    return json.dumps(value).encode()


def _changed(value: Any, way: Sequence[int], how: str, new: Any, everywhere: bool) -> Any:
    if not way or not value or not isinstance(value, dict | list):
        return new
    pairs: list[tuple[Any, Any]] = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    made = []
    for at, (key, one) in enumerate(pairs):
        if at != way[0] % len(pairs) and not (everywhere and isinstance(value, list)):
            made.append((key, one))
        elif len(way) > 1 or how == "replace":
            made.append((key, _changed(one, way[1:], how, new, everywhere)))
        elif how == "double":
            made += [(key, one), (f"{key} ", one)]
    return dict(made) if isinstance(value, dict) else [one for _, one in made]


# What may become of the bytes of any body.
HARMS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "doubled": lambda data: data * 2,
    "zeros": lambda data: bytes(100_000),
    "half of it not text": lambda data: data[: len(data) // 2] + b"\xff\xfe\x9b" + data[len(data) // 2 :],
    "a mark before": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    "lists without end": lambda data: b"[" * 200_000 + b"\n" + data,
    "objects without end": lambda data: b'{"a":' * 200_000,
    "a number without end": lambda data: b'{"key": ' + b"9" * 100_000 + b', "dimension": 1e999}\n' + data,
    "a long line": lambda data: data + b'{"x": "' + b"y" * 50_000_000 + b'"}\n',
    "empty lines": lambda data: b"\n" * 2_000_000 + data,
    "keys without end": lambda data: b"{" + b",".join(b'"%d":0' % number for number in range(150_000)) + b"}",
}

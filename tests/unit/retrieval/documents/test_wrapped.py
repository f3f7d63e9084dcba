import textwrap
from pathlib import Path

import pytest

from retrieval.documents.load import parse_document
from retrieval.documents.wrapped import unwrapped
from tests.unit.retrieval.documents.processor_time import bounded

CLAUSE = (
    "The Tenant must tell the Landlord of any damage within 14 days, unless the Landlord was there when it happened, "
    "and may then withhold a part of the rent until the Landlord has mended it or has offered another flat instead."
)
WRAPPED = textwrap.fill(CLAUSE, 60)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"1. Damage\n\n{WRAPPED}\n\n{WRAPPED}", ["1. Damage", "", CLAUSE, "", CLAUSE]),
        (f"Damage\n{WRAPPED}\nKeys\n{WRAPPED}", ["Damage", CLAUSE, "Keys", CLAUSE]),
        (textwrap.indent(WRAPPED, "    ") + f"\n  a) {WRAPPED}", [f"    {CLAUSE}", f"  a) {CLAUSE}"]),
        (f"{WRAPPED}\n- {WRAPPED}\n* keys", [CLAUSE, f"- {CLAUSE}", "* keys"]),
    ],
)
def test_lines_that_were_wrapped_are_joined(text: str, lines: list[str]) -> None:
    assert unwrapped(text).split("\n") == lines


@pytest.mark.parametrize(
    "kept",
    [
        f"```\n{WRAPPED}\n```",
        "".join(f"{name:<40}{price:>20}\n" for name, price in [("Flat", 700), ("Garage", 50), ("Garden", 20)] * 3),
        "".join(f"2026-11-29 10:0{index} the server answered a question in {index} seconds\n" for index in range(9)),
        "".join(f"clause-{index}: the tenant mends what costs less than {index}00 euros\n" for index in range(9)),
        "".join(f"{word} of the Tenant\n" for word in ("Duties", "Rights", "Visitors", "Keys and locks") * 5),
        "Flat | Rent of a month\n--- | ---\n" + "a flat with a garden and a cellar | 700 euros for a month\n" * 4,
        "    selfrag index contracts notes.md\n    selfrag ask When does it end\n" * 2,
        WRAPPED.replace("and\n", "and\\\n").replace("14\n", "14  \n").replace("has\n", "has  \n"),
    ],
)
def test_other_lines_stay(kept: str) -> None:
    assert unwrapped(f"{kept}\n\n{WRAPPED}").startswith(kept)


def test_a_list_of_lines_is_not_joined() -> None:
    names = (
        "Ann",
        "Bo and the whole family of her sister from Quay Street",
        "Cy",
        "Di, who has the garden flat since May",
    )
    text = "".join(f"Tenant {name}\n" for name in names * 3)
    assert unwrapped(text) == text


@pytest.mark.parametrize("name", ["lease.txt", "lease.md"])
def test_texts_and_markdown_are_unwrapped(name: str) -> None:
    (section,) = parse_document(Path(name), f"# Damage\n\n{WRAPPED}\n".encode()).sections
    assert CLAUSE in section.text


def test_many_lines_take_linear_time() -> None:
    with bounded():
        unwrapped(f"{WRAPPED}\n" * 100_000)
        unwrapped(f"{WRAPPED} " * 100_000)

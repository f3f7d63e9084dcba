from pathlib import Path

import pytest

from app.server import people
from app.server.people import People, read_people
from core.errors import RequestError

ANN = "ann 0123456789abcdef staff\n"


def test_a_tokens_file_has_a_name_and_a_token_a_line(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# people\n\nann 0123456789abcdef\nann fedcba9876543210\nbob ffffffffffffffff\n")
    read = read_people(file)
    assert read.owner_of("Bearer 0123456789abcdef") == read.owner_of("bearer fedcba9876543210") == "ann"
    assert read.owner_of("Bearer ffffffffffffffff") == "bob"
    assert read.owner_of("Bearer ffffffffffffffff0") is read.owner_of("") is None
    assert People().owner_of("") == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ann\n", "Line 1 of"),
        ("../ann 0123456789abcdef\n", "Line 1 of"),
        ("ann short\n", "line 1 of .* is shorter than 16 characters"),
        (f"{ANN}bob 0123456789abcdef\n", "line 2 of .* is that of a line above"),
        (f"{ANN}Ann 0123456789abcdeg\n", "differs from one above in its case alone"),
        ("# nobody\n", "holds no token"),
        (f"{ANN}only secret nobody\n", "Line 2 of .* names nobody, which is neither a person nor a group"),
        (f"{ANN}only 'secret ann\n", "Line 2 of .* is not of the form only PATTERN NAME"),
        (f"{ANN}only secret b/b\n", "Line 2 of .* is not of the form only PATTERN NAME"),
        (f"{ANN}eve 0123456789abcdeg ques=3\n", "Line 2 of .* has a word after the token that is neither a group"),
        (f"{ANN}eve 0123456789abcdeg ann\n", "ann is a person and a group in"),
        ("\udcff\udcfe", "cannot be read: it is not text in UTF-8"),
        (None, "tokens cannot be read: No such file"),
    ],
)
def test_a_wrong_tokens_file_is_refused_without_showing_a_token(tmp_path: Path, text: str | None, told: str) -> None:
    file = tmp_path / "tokens"
    if text is not None:
        file.write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(RequestError, match=told) as refused:
        read_people(file)
    assert "0123456789abcde" not in str(refused.value)


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    right = people.hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return right(one, other)

    monkeypatch.setattr(people.hmac, "compare_digest", compare)
    known = People((("ann", b"0123456789abcdef"), ("bob", b"ffffffffffffffff")))
    for token in ("0123456789abcdef", "ffffffffffffffff", "x"):
        compared.clear()
        known.owner_of(f"Bearer {token}")
        assert compared == [b"0123456789abcdef", b"ffffffffffffffff"]

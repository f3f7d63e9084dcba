from collections.abc import Callable
from pathlib import Path

import pytest

from core.fingerprint import digest, digest_of_code, fingerprint

Written = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """The digest of a folder of two files."""

    def of(code: str = "x = 1\n", data: str = "{}") -> str:
        folder = tmp_path / "nodes"
        (folder / "__pycache__").mkdir(parents=True, exist_ok=True)
        (folder / "a.py").write_text(code)
        (folder / "b.json").write_text(data)
        digest_of_code.cache_clear()
        return digest_of_code(("nodes",), tmp_path)

    return of


ASK = "def f(a):\n    return ask('1. Answer.')\n"


@pytest.mark.parametrize("code", [ASK.replace("(a)", "(b)"), ASK.replace("1", "2"), ASK.replace("'1. Answer.'", "1")])
def test_other_code_or_data_has_another_digest(written: Written, code: str) -> None:
    assert len({written(ASK), written(code), written(ASK, "[]")}) == 3


def test_comments_docstrings_and_layout_do_not_count(written: Written) -> None:
    assert written("def f(a):\n    return a\n") == written(
        '"""Doc."""\n# why\ndef f( a ):\n    """F."""\n    return a\n'
    )


def test_a_file_more_or_moved_has_another_digest(written: Written, tmp_path: Path) -> None:
    before = written()
    (tmp_path / "nodes" / "c.py").write_text("")
    more = written()
    (tmp_path / "nodes" / "c.py").rename(tmp_path / "nodes" / "d.py")
    assert len({before, more, written()}) == 3


def test_code_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        digest_of_code(("none.py",), tmp_path)


def test_name_settings_and_code_count() -> None:
    one = fingerprint("a", {"k": 4}, ())
    assert one == fingerprint("a", {"k": 4}, ())
    assert len({one, fingerprint("b", {"k": 4}, ()), fingerprint("a", {"k": 5}, ())}) == 3
    assert fingerprint("a", {"k": 4}, ("core/errors.py",)) != one


def test_texts_do_not_run_into_each_other() -> None:
    assert digest("ab", "c") != digest("a", "bc")

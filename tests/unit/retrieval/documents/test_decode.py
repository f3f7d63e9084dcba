import random

import pytest

from retrieval.documents.decode import decode, is_binary

RUSSIAN = "Это русский текст о базе данных и поиске документов."
JAPANESE = "これは日本語の文章です。検索と生成について説明します。"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Un café à Noël", "utf-8-sig"),
        ("Un café à Noël", "utf-16"),
        ("Un café à Noël", "utf-16-le"),
        ("Un café à Noël", "utf-16-be"),
        ("Un café à Noël", "utf-32"),
        ("Un café à Noël. Très naïve, déjà vu.", "latin-1"),
        ("caf\xe9", "latin-1"),
        ("He said “quoted” — it’s 5 €.", "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("这是一个关于检索增强生成的中文文档。", "gb18030"),
    ],
)
def test_text_comes_back_from_its_bytes(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_utf_8_with_a_few_bad_bytes_is_still_utf_8() -> None:
    assert decode("naïve café déjà — “x”".encode() + b" \xff\xc3") == "naïve café déjà — “x” \ufffd\ufffd"


def test_bad_bytes_far_into_a_file_are_looked_at() -> None:
    assert decode(b"plain " * 50_000 + "naïve café".encode("latin-1")).endswith("naïve café")


def test_the_encoding_a_document_names_is_used() -> None:
    assert decode(RUSSIAN.encode("iso8859_5"), declared="iso-8859-5") == RUSSIAN
    assert decode("naïve".encode("latin-1"), declared="no such encoding") == "naïve"


def test_no_bytes_make_decoding_fail() -> None:
    chance = random.Random(7)
    for length in (0, 1, 2, 3, 10, 100, 5_000):
        for _ in range(5):
            assert isinstance(decode(chance.randbytes(length)), str)


def test_an_image_is_binary_and_text_is_not() -> None:
    assert is_binary(decode(b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(2_000)))
    assert not is_binary("ordinary\ttext\n" * 10 + "\x00" * 50)

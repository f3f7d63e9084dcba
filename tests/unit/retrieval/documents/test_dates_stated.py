from datetime import date
from pathlib import Path

import pytest

from retrieval.documents.decode import stated_day
from retrieval.documents.load import parse_document
from tests.unit.retrieval.documents.pdfs import dated

NEXT_YEAR = date.today().year + 1


@pytest.mark.parametrize(
    ("stated", "day"),
    [
        (" 2024-05-06T23:59:59+02:00", "2024-05-06"),
        ("20240506", "2024-05-06"),
        ("D:20240506070809+02'00'", "2024-05-06"),
        ("1900-01-01", "1900-01-01"),
        (f"{NEXT_YEAR}-12-31", f"{NEXT_YEAR}-12-31"),
        (f"{NEXT_YEAR + 1}-01-01", None),
        ("1899-12-31", None),
        ("2023-02-29", None),
        ("D:2024", None),
        (20240506, None),
    ],
)
def test_only_a_plausible_day_is_one(stated: object, day: str | None) -> None:
    assert stated_day(stated) == day


@pytest.mark.parametrize(
    ("created", "modified", "day"),
    [
        ("D:20200102030405Z", "D:20210304050607Z", "2021-03-04"),
        ("D:20200102030405Z", None, "2020-01-02"),
        ("D:20200102030405Z", "nonsense", "2020-01-02"),
        (None, None, None),
    ],
)
def test_a_pdf_is_dated_by_its_last_change(created: str | None, modified: str | None, day: str | None) -> None:
    assert parse_document(Path("a.pdf"), dated("Text.", created, modified)).date == day


PUBLISHED = '<meta property="article:published_time" content="2020-01-02T00:00:00Z">'
MODIFIED = '<meta property="article:modified_time" content="2021-03-04">'
LINKED = '<script type="application/ld+json">{"datePublished": "2020-01-02", "dateModified": "2021-03-04"}</script>'


@pytest.mark.parametrize(
    ("head", "body", "day"),
    [
        (PUBLISHED, "", "2020-01-02"),
        (PUBLISHED + MODIFIED, "", "2021-03-04"),
        ('<meta name="date" content="2020-01-02">', "", "2020-01-02"),
        (LINKED, "", "2021-03-04"),
        ("", '<article><time datetime="2020-01-02">2 January</time></article>', "2020-01-02"),
        ("", '<time datetime="2020-01-02">Today</time>', None),
        ("", '<article><time datetime="2020-01-02"></time></article><article>Another</article>', None),
    ],
)
def test_a_web_page_is_dated_by_its_head_or_its_only_article(head: str, body: str, day: str | None) -> None:
    page = f"<html><head>{head}</head><body><p>Text.</p>{body}</body></html>"
    assert parse_document(Path("a.html"), page.encode()).date == day


@pytest.mark.parametrize(
    ("front", "day"),
    [
        ("---\ntitle: x\ndate: 2020-01-02\n---\n", "2020-01-02"),
        ('---\ndate: "2020-01-02T03:04:05Z"\n---\n', "2020-01-02"),
        ("---\ndate: 2020-01-02\nlastmod: 2021-03-04\n---\n", "2021-03-04"),
        ("---\nms.date: 05/31/2018\n---\n", "2018-05-31"),
        ("+++\ndate = 2020-01-02\n+++\n", "2020-01-02"),
        ("---\ndate: 05/31/2018\n---\n", None),
        ("---\nupdate: 2020-01-02\n---\n", None),
        ("date: 2020-01-02\n", None),
        ("---\nnever closed\ndate: 2020-01-02\n", None),
        ("", None),
    ],
)
def test_a_markdown_file_is_dated_by_its_front_matter(front: str, day: str | None) -> None:
    assert parse_document(Path("a.md"), f"{front}\n# Title\n\ndate: 1999-01-01\n".encode()).date == day

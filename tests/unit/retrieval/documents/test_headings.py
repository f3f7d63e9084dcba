from pathlib import Path

import pytest
from langchain_core.documents import Document

from retrieval.documents.headings import MOST_HEADINGS, Heading, Outline, stated_title
from retrieval.documents.load import Loaded, documents_of, parse_document
from retrieval.splitter import SplitSettings, split
from tests.unit.retrieval.documents.pdfs import pdf
from tests.unit.retrieval.documents.processor_time import bounded


def read(name: str, text: str | bytes) -> Loaded:
    return parse_document(Path(name), text if isinstance(text, bytes) else text.encode())


def headings(name: str, text: str | bytes) -> tuple[str, list[tuple[str, int]]]:
    loaded = read(name, text)
    (section,) = loaded.sections
    return loaded.title, [(section.text[one.start : one.end], one.level) for one in section.headings]


MARKDOWN = """---
title: "Error C2001"
# a comment, no heading
---
# `Error` C2001 ##

<!--
# no heading
-->
Remarks
-------
- item
---
```sh
# no heading
```
    # code
###### Deep
#hashtag
"""


def test_markdown_has_atx_and_setext_headings_outside_of_code_and_the_title_of_its_front_matter() -> None:
    found = [("`Error` C2001 ##", 1), ("Remarks", 2), ("Deep", 6)]
    assert headings("a.md", MARKDOWN) == ("Error C2001", found)


LONG = "The tenant mends what costs less than a hundred euros, and tells the landlord of the rest."
TEXT = f"""
   The lease

1. Parties

Ann and Bo.

2. Rent.

  2.1. Amount
  -----------

  {LONG}

Notice of defects

{LONG}

 1. Keys

 2. Doors

 3. {LONG}

  4. Insurance

Nobody must insure.

  5. {LONG}

3. Duties

   1. {LONG}

Garden fence

Fire doors

NOTICES
{LONG}

https://lease.example/notes

{LONG}

Please read all.

{LONG}
"""
RST = "Title\n=====\n\nPart\n----\nText.\n\n=====\n Over\n=====\n\n----\n"


@pytest.mark.parametrize(
    ("name", "text", "title", "found"),
    [
        ("a.md", "## Part\n\nText.\n\n# [Whole](x.md)\n", "Whole", [("Part", 2), ("[Whole](x.md)", 1)]),
        ("a.rst", RST, "Title", [("Title", 1), ("Part", 2), ("Over", 3)]),
        ("a.rst", "Some text\nof two lines\n===========\n::\n\n  in code\n  =======\n", "", []),
        ("a.adoc", "= Doc\n\n== Part\n----\n== listing\n----\n=== Sub\n", "Doc", [("Doc", 1), ("Part", 2), ("Sub", 3)]),
        ("a.org", "* Top\n#+begin_src sh\n* no\n#+end_src\n** Sub\n*bold*\n", "Top", [("Top", 1), ("Sub", 2)]),
        ("a.txt", "# A comment\n\nTitle\n=====\n", "", []),
        (
            "a.txt",
            TEXT,
            "The lease",
            [
                *(("The lease", 1), ("1. Parties", 2), ("2. Rent.", 2), ("2.1. Amount", 3)),
                *(("Notice of defects", 2), ("3. Duties", 2), ("NOTICES", 2)),
            ],
        ),
        ("a.txt", "\n\n1.1.1.1.1.1.1.1.1 Keys\n\nText", "1.1.1.1.1.1.1.1.1 Keys", [("1.1.1.1.1.1.1.1.1 Keys", 9)]),
        (
            "a.md",
            "# Lease\n## 2. Rent\n## 2.1 Due\n### 3. Keys\n#### (a) Lost\n",
            "Lease",
            [("Lease", 1), ("2. Rent", 2), ("2.1 Due", 3), ("3. Keys", 2), ("(a) Lost", 4)],
        ),
        ("a.md", "## 3 Plan\n### 1. Buy\n### 2. Run\n", "3 Plan", [("3 Plan", 2), ("1. Buy", 3), ("2. Run", 3)]),
        ("a.txt", "The lease ends.\nText\n", "", []),
        ("a.txt", "From: me\nText\n", "", []),
        ("a.txt", f"{'long ' * 25}\nText\n", "", []),
        ("a.log", "The server\n", "", []),
    ],
)  # fmt: skip
def test_each_format_has_the_headings_that_it_marks(
    name: str, text: str, title: str, found: list[tuple[str, int]]
) -> None:
    assert headings(name, text) == (title, found)


def test_a_pdf_has_the_title_in_its_metadata_unless_a_program_put_it_there() -> None:
    assert stated_title("Annual report 2023") == "Annual report 2023"
    for none in (None, "", "Microsoft Word - draft2.doc", "report_final.docx", "Untitled", "Document1", "12"):
        assert stated_title(none) == ""
    assert read("a.pdf", pdf(["A page."])).title == ""


def passages(name: str, text: str, size: int = 60) -> list[Document]:
    return split(documents_of(Path(name), read(name, text)), SplitSettings(size, 0))


def test_a_passage_knows_the_headings_above_its_body_and_its_text_is_unchanged() -> None:
    text = (
        "# Guide\n\nIntroductory words of some length.\n\n## Install\n\n### Linux\n\nUse the package of the system.\n\n"
        "Or build it yourself from source.\n\n## Use\n\nRun it with the name of a folder.\n"
    )
    found = passages("a.md", text)
    assert [(one.metadata.get("title"), one.metadata.get("heading")) for one in found] == [
        ("Guide", None),
        ("Guide", "Install > Linux"),
        ("Guide", "Install > Linux"),
        ("Guide", "Use"),
    ]
    for one in found:
        assert text[one.metadata["offset"] :].startswith(one.page_content)
        assert "headings" not in one.metadata


def test_a_heading_of_10000_characters_is_cut_in_the_middle_and_says_so() -> None:
    long = "begin " + "very " * 2_000 + "end"
    text = f"# {long}\n\n## {long}2\n\n### {long}3\n\n#### {long}4\n\nThe body is here.\n"
    last = passages("a.md", text, 500)[-1].metadata
    assert len(last["title"]) <= 120
    assert last["title"].startswith("begin very")
    assert " … " in last["title"]
    assert last["title"].endswith("very end")
    assert len(last["heading"]) <= 300
    assert last["heading"].startswith("begin very")
    assert last["heading"].endswith("very end4")


def test_more_headings_than_can_be_told_count_as_none() -> None:
    text = "# a\n" * (MOST_HEADINGS + 1)
    assert read("a.md", text).sections[0].headings == ()


def test_very_many_headings_are_found_for_very_many_passages_in_linear_time() -> None:
    text = "#\n# a\n" * 20_000
    with bounded():
        outline = Outline(text, [Heading(start + 4, start + 5, 1) for start in range(0, len(text), 6)])
        for offset in range(0, len(text), 60):
            outline.above(offset, offset + 500)


TABLE = """Prices of all plans:

| Plan | Price | Support |
|:-----|------:|:-------:|
| Basic | 10 EUR | e\\|mail |
| Pro | 20 EUR | |

```
| a | b |
|---|---|
```
"""


def test_a_row_in_markdown_says_its_columns() -> None:
    (section,) = read("a.md", TABLE).sections
    assert section.text == (
        "Prices of all plans:\n\nPlan: Basic | Price: 10 EUR | Support: e|mail\nPlan: Pro | Price: 20 EUR\n\n"
        "```\n| a | b |\n|---|---|\n```\n"
    )


def test_a_small_table_stays_whole_and_a_row_of_400_columns_is_cut_between_cells() -> None:
    rows = "".join(f"| Plan {number} | {number}0 EUR. Paid yearly | A and b |\n" for number in range(3))
    before = "Words that fill half of the passage in which the heading stands, and leave no room for all of the rows."
    text = f"# Prices\n{before}\n| Plan | Price | Of |\n|---|---|---|\n{rows}\n" + "Other words. " * 30
    whole = [one.page_content for one in passages("a.md", text, 250) if "Plan 0" in one.page_content]
    assert len(whole) == 1
    assert "Plan: Plan 2" in whole[0]
    wide = "|".join(f"Column {number}" for number in range(400))
    cut = passages("a.md", f"{wide}\n{'|'.join('-' * 400)}\n{'|'.join(map(str, range(400)))}\n", 200)
    assert len(cut) > 20
    assert all(one.page_content.startswith("Column ") for one in cut)

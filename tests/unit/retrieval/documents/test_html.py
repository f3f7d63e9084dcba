import sys
from pathlib import Path

import pytest

from retrieval.documents.html import read_html
from retrieval.documents.load import parse_document
from tests.unit.retrieval.documents.processor_time import bounded

PAGE = """<!doctype html><html><head><title>Care &amp; costs</title><style>p{}</style></head><body>
<nav>Home</nav><header>Site banner</header><main><article><header><h1>Care</h1></header>
<p>First <b>para</b>graph
wraps.</p><p>Second.<br>Next line.</p><h2>Costs<a href="#costs">¶</a></h2><p>They are high.</p>
<ul><li>one</li><li><p>two</p></li></ul>
<div class="x navheader">Next <b>page</b></div><p role="navigation">Home</p>
<table><tr><th>Drug</th><th>Weight</th></tr><tr><td><p>Aspirin</p></td><td>180.16</td></tr></table>
<pre>a = 1
  b = 2</pre><script>alert(1)</script><!-- comment --><form>Search <input></form></article></main>
<aside>Advert</aside><footer>Imprint</footer></body></html>"""


def text_of(page: str) -> str:
    (section,) = read_html(page).sections
    return section.text


def test_a_page_is_laid_out_as_text() -> None:
    assert text_of(PAGE) == (
        "Care & costs\n\nCare\nFirst paragraph wraps.\n\nSecond.\nNext line.\n\nCosts\nThey are high.\n\n"
        "one\ntwo\n\nDrug: Aspirin | Weight: 180.16\n\na = 1\n  b = 2"
    )


@pytest.mark.parametrize(
    "style",
    [
        *("visibility:collapse", "opacity: 0", "opacity:0.0;", "font-size:0", "font-size: 0px", "clip:rect(0 0 0 0)"),
        *("position:absolute;left:-9999px", "text-indent:-1000px", "transform:scale(0)", "color:transparent"),
        *("height:0;overflow:hidden", "clip-path: inset(50%)", "height:0;\nwidth:0;overflow:hidden", "opacity:.0"),
        *("max-height: 0px; color: red; overflow : hidden", "opacity: 0 !important", "opacity:"),
        *("overflow:hidden;height:0", "height:0\noverflow:hidden"),
    ],
)
def test_text_that_a_style_hides_is_left_out(style: str) -> None:
    assert text_of(f"<p>Seen.</p><p style='{style}'>Obey.</p>") == "Seen."


@pytest.mark.parametrize(
    "style",
    [
        *("opacity:0.9", "opacity: .5", "font-size:0.9em", "left:-2px", "color:#000", "background-color:transparent"),
        *("transform:scale(0.5)", "height:0.5em;overflow:hidden", "line-height:0", "clip-path: inset(5%)"),
        *("width:00.0;overflow:visible", "opacity:0.01"),
    ],
)
def test_a_style_that_hides_nothing_hides_nothing(style: str) -> None:
    assert text_of(f"<p style='{style}'>Seen.</p>") == "Seen."


DOCUMENTATION = """<title>walk</title><body><div class="toc"><ul><li>Install</li><li>Use</li></ul></div>{}
<h1>walk(path)</h1><p>Yield what lies below <code>path</code>.</p><h2>Options</h2>
<ul><li>depth</li><li>links<ul><li>follow</li></ul></li></ul>
<table><tr><th>Option</th><th>Default</th></tr><tr><td>depth</td><td>3</td></tr></table>
<pre>for file in walk("."):
    print(file)</pre><dl><dt>OSError</dt><dd>when the path is gone</dd></dl>{}<div>Cookies are used.</div></body>"""


@pytest.mark.parametrize(
    ("start", "end"),
    [("<main>", "</main>"), ("<div role='main'>", "</div>"), ("<article>", "</article>"), ("<article><main>", "")],
)
def test_of_a_page_with_a_main_part_only_that_is_taken_with_its_lists_tables_and_code(start: str, end: str) -> None:
    assert text_of(DOCUMENTATION.format(start, end)) == (
        "walk(path)\nYield what lies below path.\n\nOptions\ndepth\nlinks\nfollow\n\nOption: depth | Default: 3\n\n"
        'for file in walk("."):\n    print(file)\n\nOSError\nwhen the path is gone'
    ) + ("" if end else "\n\nCookies are used.")


@pytest.mark.parametrize(
    "page",
    [
        "<article>One.</article><article>Two.</article>",
        "<main>One.</main><p>Two, which says so much more than the first that it must be the text.</p>",
        "<p>One.</p><div style='display:none'><main>Obey, and say so at great length.</main></div><p>Two.</p>",
        "<p>One.</p><aside><article>An advert that says more than the page.</article></aside><p>Two.</p>",
        "<p>One.</p><main hidden>Obey, and say so at great length.</main><p>Two.</p>",
    ],
)
def test_what_is_no_main_part_is_not_taken_for_one(page: str) -> None:
    text = text_of(page)
    assert "One." in text
    assert "Two" in text
    assert "Obey" not in text
    assert "advert" not in text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<?xml version='1.0'?><html><p>Text.</p></html>", "Text."),
        ("report.html", "report.html"),
        ("<p hidden>No.<p>Seen.<p>Also.", "Seen.\n\nAlso."),
        ("<p>a&#2;b&#1;c</p>", "abc"),
        ("<body><form><h1>Title</h1><p>Text.</p></form></body>", "Title\nText."),  # a form round it all is no furniture
        ("<p>Seen.</p><p hidden>No.</p><p style='display: none'>No.</p><p>Also.</p>", "Seen.\n\nAlso."),
        ("<p>Al&#8203;so\U000e0041.</p>", "Also."),
        ("<p>Menu</p><main><p>Seen.</p><p style='opacity:0'>Obey.</p></main>", "Seen."),
        ("<p>10<sup>−3</sup>, 120<sup>1</sup>, the 1<sup>st</sup>, CO<sub>2</sub></p>", "10⁻³, 120¹, the 1st, CO2"),
    ],
    ids=range(9),
)
def test_odd_pages_give_what_is_seen_of_them(page: str, text: str) -> None:
    assert text_of(page) == text


def test_the_declared_encoding_is_used() -> None:
    text = "Это русский текст"
    page = f'<html><head><meta charset="koi8-r"></head><p>{text}</p>'
    assert parse_document(Path("page.html"), page.encode("koi8-r")).sections[0].text == text


# Pages that cost Python's parser, Beautiful Soup or a pattern the square of their size, and a word that is read there.
SQUARE = {
    "comments": ("<!--" * 200_000, None),
    "comments that nearly end": ("<!-- -" * 100_000, None),
    "instructions": ("<?" * 400_000, None),
    "sections": ("<![if x]" * 100_000, None),
    "end tags": ("</a " * 200_000, None),
    "start tags": ("<a " * 100_000, None),
    "quotes": ('<a b="' * 100_000, None),
    "quotes round brackets": ('<a b=">" ' * 50_000, None),
    "empty elements": ("<br>" * 40_000 + "<i></i>" * 40_000 + "seen", "seen"),
    "headers": ("<div>" * 20_000 + "<header>a</header>" * 20_000 + "seen", "seen"),
    "forms": ("<form>" * 20_000 + "<p>seen", "seen"),
    "no height": ("<p style='" + "height:0;" * 100_000 + "'>seen", "seen"),
    "zeros": ("<p style='opacity:" + "0" * 100_000 + "x'>seen", "seen"),
    "strings between tags left open": ("<i></i>a<b>" * 20_000, "a" * 20_000),
    "signs between tags left open": ("<style></style>&<ruby>" * 20_000, "&" * 20_000),
    "spaces": ("<p style='opacity:" + " " * 100_000 + "x'>seen", "seen"),
    "breaks": ("<hr style='break-after:page'><div>1</div>" * 900 + "<p>seen", "seen"),
}


@pytest.mark.parametrize("name", SQUARE)
def test_no_page_takes_the_square_of_its_size(name: str) -> None:
    page, seen = SQUARE[name]
    with bounded():
        try:
            outcome = text_of(page)
        except ValueError as error:
            outcome = str(error)
    # Newer versions of Python take what has no end for text, and do not look for it again and again.
    lenient = not seen and sys.version_info >= (3, 11, 14)
    assert outcome == (seen or "has too many tags or comments without an end: save it anew with a browser") or lenient


def test_a_few_tags_and_comments_without_an_end_are_text() -> None:
    page = "<p>seen</p>" * 1_000 + "<i" * 20 + "<!-- " * 20 + "</b" * 20
    assert text_of(page).startswith("seen\n\nseen")


def headings(page: str) -> tuple[str, list[tuple[str, int]]]:
    found = read_html(page)
    (section,) = found.sections
    return found.title, [(section.text[one.start : one.end], one.level) for one in section.headings]


def test_headings_are_found_where_they_stand_in_the_text() -> None:
    assert headings(PAGE) == ("Care & costs", [("Care", 1), ("Costs", 2)])
    nested = "<p>Before.</p><h2><div> A <b>bold</b></div> </h2>text<h3 hidden>No</h3><pre>  x</pre><h3>Last</h3>"
    assert headings(nested) == ("A bold", [("A bold", 2), ("Last", 3)])
    assert headings("<h2></h2><p>Text.</p><h1>") == ("", [])


def test_bold_paragraphs_are_the_headings_of_a_page_without_heading_elements() -> None:
    style = "style='font-size:9pt;font-weight:700'"
    page = (
        f"<div><span {style}>PART</span> <span {style}>I</span></div><p><b>Item 1. Business</b></p><p>We sell oil.</p>"
        "<p><b>Staff</b></p><p>We have <b>ten</b> people, <b>all</b> on contracts.</p><ul><li><b>Oslo</b></li></ul>"
        f"<p><b>7.2 Pensions</b></p><p><b>{'long ' * 40}</b></p><table><tr><td><b>Cell</b><td>1</table>"
        f"<p>None. {'It is so. ' * 40}</p>"
    )
    page += "<table><tr><td></td><td><b>Note 19 - Debts</b></td></tr></table><p>None.</p>"
    found = [("PART I", 1), ("Item 1. Business", 2), ("Staff", 6), ("7.2 Pensions", 3), ("Note 19 - Debts", 2)]
    assert headings(page)[1] == found
    assert headings(page + "<h2>A</h2><h2>B</h2><h2>C</h2>")[1] == [("A", 2), ("B", 2), ("C", 2)]
    assert headings("<p><b>All of this</b></p><p><b>is bold</b></p><p>Not this.</p>")[1] == []


def test_a_filing_is_called_by_who_files_it() -> None:
    facts = "<ix:nonnumeric name='dei:EntityRegistrantName'>Oil  plc</ix:nonnumeric><i name='dei:DocumentType'>10-K</i>"
    assert read_html(f"<title>oil-20250531</title><p>{facts}</p>").title == "Oil plc 10-K"


def test_of_a_paragraph_marked_as_a_heading_only_its_title_is_one() -> None:
    clause = "2.1 The tenant pays the rent on the first working day of each month, in advance and in full."
    titled = f"2.2 Deposit. The tenant pays {'so ' * 51}"
    page = f"<h1>2. Rent</h1><h2>{clause}</h2><h2>{titled}</h2><h2>{'so ' * 51}</h2><p>Text.</p>"
    assert headings(page) == ("2. Rent", [("2. Rent", 1), ("2.2 Deposit", 2)])
    assert text_of(page).startswith(f"2. Rent\n{clause}\n\n2.2 Deposit. The")


def test_a_box_says_whether_it_is_ticked() -> None:
    assert text_of("<p><input type=checkbox checked> Cash</p><p><input type=checkbox>Card <input></p>") == (
        "☒ Cash\n\n☐ Card"
    )


def test_running_heads_at_the_breaks_of_pages_are_left_out_and_paragraphs_joined() -> None:
    hr = "<hr style='page-break-after:always'>"
    heads = f"<div>Oil plc | {{0}}</div>{hr}<div><a>Contents</a></div>"
    pages = [f"<div>Text {'abcdef'[n]} goes</div>{heads.format(n)}<div>on {'abcdef'[n]}.</div>" for n in range(6)]
    first, *joined = [f"Text {letter} goes on {letter}." for letter in "abcdef"]
    assert text_of("".join(pages)) == "\n\n".join([first, "Oil plc | 0", "Contents", *joined])
    assert "Oil plc | 2" in text_of("".join(pages[:4]))
    hidden = "<div style='display:none'>obey this</div>"
    assert text_of(f"<div>Text goes</div>{hidden}{hr}{hidden}<div>on here.</div>") == "Text goes on here."
    assert text_of(f"<div>Text goes</div>{hr}{hidden}") == "Text goes"
    assert text_of("<p>Seen.</p><table hidden><tr><td>obey this</td></tr></table>") == "Seen."
    assert text_of(f"<div>Rents</div>{hr}<div>They are due.</div>") == "Rents\n\nThey are due."
    ended = [f"<p>The end of {'abcdef'[n]}.</p>{hr}<p>so it is</p>" for n in range(6)]
    assert text_of("".join(ended)).startswith("The end of a.\n\nso it is\n\nThe end of b.")


TABLES = {
    "<thead><tr><td>Plan</td><td>Price</td></tr></thead><tr><td>Pro</td><td>20</td></tr>": "Plan: Pro | Price: 20",
    "<tr><td><b>Plan</b></td><td><strong>Price</strong></td></tr><tr><td>Pro</td><td>20</td></tr>": (
        "Plan: Pro | Price: 20"
    ),
    "<tr><td>City</td><td>River</td><td>Length</td></tr><tr><td>Paris</td><td>Seine</td><td>777</td></tr>": (
        "City: Paris | River: Seine | Length: 777"
    ),
    "<tr><td>Name</td><td>Ann</td></tr><tr><td>Age</td><td>30</td></tr>": "Name | Ann\nAge | 30",
    "<tr><th>Name</th><td>Ann</td></tr><tr><th>Age</th><td>30</td></tr>": "Name | Ann\nAge | 30",
    "<tr><th></th><th>Pro</th></tr><tr><th>Price</th><td>20</td></tr><tr><th>Seats</th><td></td></tr>": (
        "Price | Pro: 20\nSeats"
    ),
    "<tr><th rowspan=2>Area</th><th colspan=2>Sales</th></tr><tr><th>2022</th><th>2023</th></tr>"
    "<tr><td rowspan=2>North</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr>": (
        "Area: North | Sales 2022: 1 | Sales 2023: 2\nArea: North | Sales 2022: 3 | Sales 2023: 4"
    ),
    "<thead><tr><th>Area<th>City<th>Sales<tbody><tr><td>North<td><p>Oslo<td>1<tr><td><td>Hamar<td><tr><td>South<td>Rome<td>"
    "<table><tr><td>2<td>3</table>": (
        "Area: North | City: Oslo | Sales: 1\nCity: Hamar\nArea: South | City: Rome\n\n2 | 3"
    ),
    "<tr><td>North</td><td>Oslo</td></tr><tr><td></td><td><ul><li>Hamar</ul></td><td>1": "North | Oslo\nHamar | 1",
    "<tr hidden><th>Obey</th><th>Me</th></tr><tr><td>Pro</td><td>20</td></tr>": "Pro | 20",
    "<tr><th>Plan</th><th style='opacity:0'>Obey</th></tr><tr><td>Pro</td><td>20</td></tr>": "Plan: Pro | 20",
    "<tr><th>Plan</th></tr>": "Plan",
    "<tr><td></td><td></td></tr><tr><td>(in millions)</td><td colspan=3>2024</td><td colspan=2>2023</td></tr>"
    "<tr><td>Net sales</td></tr><tr><td>Oil</td><td>$</td><td><p>(7</p></td><td>)</td><td>$</td><td>—</td></tr>"
    "<tr><td>Gas</td><td colspan=2>12</td><td></td><td>—</td><td>%</td></tr>": (
        "(in millions): Net sales\n(in millions): Oil | 2024: $(7) | 2023: $—\n(in millions): Gas | 2024: 12 | 2023: —%"
    ),
    "<tr><td></td><td>Fee</td><td>Cap</td></tr><tr><td>Year</td><td>(EUR)</td><td>(EUR)</td></tr>"
    "<tr><td>2026</td><td>7</td><td>9</td></tr>": "Year: 2026 | Fee (EUR): 7 | Cap (EUR): 9",
    "<tr><td></td><td>2024</td></tr><tr><td>Sales:</td></tr><tr><td>Oil</td><td>7</td></tr><tr><td>Total</td><td>7</td>"
    "</tr><tr><td>Debt</td><td>1</td></tr><tr><td>Costs:</td></tr><tr><td>Oil</td><td>3</td></tr><tr><td></td></tr>"
    "<tr><td>Tax</td><td>2</td></tr>": (
        "Sales:\nSales > Oil | 2024: 7\nSales > Total | 2024: 7\nDebt | 2024: 1\n"
        "Costs:\nCosts > Oil | 2024: 3\nTax | 2024: 2"
    ),
    "<tr><td>(in EUR)</td><td colspan=2>Year</td></tr><tr><td>Kind</td><td>2025</td><td>2024</td></tr>"
    "<tr><td>Oil</td><td>7</td><td>9</td></tr>": "(in EUR) Kind: Oil | Year 2025: 7 | Year 2024: 9",
    "<tr hidden><td>Obey</td></tr>": "",
    "<tr><td></td><td>12</td></tr><tr><td>Gas</td><td>8</td></tr>": "12\nGas | 8",
    "<tr><td>A</td><td>one</td><td>two</td></tr><tr><td>B</td><td>three</td><td>4</td></tr>"
    "<tr><td>C</td><td>five</td><td>six</td></tr>": "A | one | two\nB | three | 4\nC | five | six",
}


@pytest.mark.parametrize("table", TABLES, ids=range(len(TABLES)))
def test_a_row_says_its_columns_where_the_table_has_heads(table: str) -> None:
    assert text_of(f"<table>{table}</table>") == TABLES[table]


def test_tables_and_bold_nested_spanned_or_signed_without_end_are_read_quickly() -> None:
    with bounded():
        text_of("<table><tr><th>a" * 2_000)
        text_of("<table><tr>" + "<td>$<td>)" * 20_000)
        text_of("<b>" * 20_000 + "<p>a" * 20_000)
        text_of("<div><hr style='break-after:page'>a" * 900)
        text_of("<table><tr>" + "<td rowspan=60000 colspan=1000>a</td>" * 2_000 + "</tr><tr><td>b" * 200)

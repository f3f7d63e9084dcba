import io
import zipfile
from pathlib import Path

import pytest

from core.errors import EmptyDocument, UnreadableDocument
from retrieval.documents import docx as load_docx_parts
from retrieval.documents.load import parse_document
from tests.unit.retrieval.documents.docx_files import W, core, docx, p, styles
from tests.unit.retrieval.documents.processor_time import bounded

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def text_of(data: bytes) -> str:
    return parse_document(Path("a.docx"), data).sections[0].text


def complaint(data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as caught:
        parse_document(Path("a.docx"), data)
    return str(caught.value)


def row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{p(cell)}</w:tc>" for cell in cells) + "</w:tr>"


def test_headings_paragraphs_lists_and_tables_are_laid_out_and_styles_make_headings() -> None:
    headings = styles(
        '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>'
    )
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    numbering = {
        "word/numbering.xml": f'<w:numbering {W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0">'
        '<w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    }
    body = (
        p("Care", paragraph='<w:pStyle w:val="Titel"/>')
        + p("Costs", paragraph='<w:pStyle w:val="berschrift1"/>')
        + p("They are high.")
        + p("Still.")
        + p("one", paragraph=item)
        + p("two", paragraph=item)
        + f"<w:tbl>{row('Drug', 'Weight')}{row('Aspirin', '180.16')}</w:tbl>"
    )
    loaded = parse_document(Path("a.docx"), docx(body, headings | numbering))
    (section,) = loaded.sections
    assert section.text == ("Care\nCosts\nThey are high.\n\nStill.\n\none\ntwo\n\nDrug | Weight\nAspirin | 180.16")
    found = [(section.text[one.start : one.end], one.level) for one in section.headings]
    assert (loaded.title, found) == ("Care", [("Care", 1), ("Costs", 1)])


def test_a_note_stands_at_the_end_under_its_number() -> None:
    body = (
        '<w:p><w:r><w:t>A claim.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:t xml:space="preserve"> More.</w:t></w:r><w:r><w:footnoteReference w:id="3"/></w:r></w:p>'
    )
    notes = f'<w:footnote w:id="2">{p("Its source.")}</w:footnote><w:footnote w:id="3">{p("Ibid.")}</w:footnote>'
    parts = {"word/footnotes.xml": f"<w:footnotes {W}>{notes}</w:footnotes>"}
    assert text_of(docx(body, parts)) == "A claim.[1] More.[2]\n\n[1] Its source.\n[2] Ibid."


def test_what_stands_in_fields_rubies_and_formulas_is_kept_and_breaks_part_words() -> None:
    body = (
        f'<w:p><w:fldSimple w:instr="REF x">{p("Field").removeprefix("<w:p><w:pPr></w:pPr>").removesuffix("</w:p>")}'
        '</w:fldSimple><w:r><w:br w:type="page"/><w:t>Next</w:t><w:cr/><w:t>line</w:t></w:r></w:p>'
        "<w:p><w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>"
        '<w:p><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
        "<m:r><m:t>x=</m:t></m:r><m:r><m:t>y</m:t></m:r></m:oMath></w:p>"
    )
    assert text_of(docx(body)) == "Field\nNext\nline\n\n東京\n\nx=y"


@pytest.mark.parametrize(
    "hiding", ["<w:vanish/>", '<w:vanish w:val="1"/>', '<w:sz w:val="2"/>', '<w:rStyle w:val="B"/>']
)
def test_hidden_text_is_left_out(hiding: str) -> None:
    based = styles(
        '<w:style w:type="character" w:styleId="A"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="character" w:styleId="B"><w:basedOn w:val="A"/></w:style>'
    )
    assert text_of(docx(p("Seen.") + p("Obey.", run=hiding), based)) == "Seen."


def test_a_style_that_hides_a_paragraph_hides_its_runs_but_those_that_say_otherwise() -> None:
    hidden = styles('<w:style w:type="paragraph" w:styleId="H"><w:rPr><w:vanish/></w:rPr></w:style>')
    style = '<w:pStyle w:val="H"/>'
    body = p("No.", paragraph=style) + p("Yes.", run='<w:vanish w:val="0"/>', paragraph=style) + p("Also.")
    assert text_of(docx(body, hidden)) == "Yes.\n\nAlso."


def test_deleted_text_and_comments_are_left_out_and_insertions_kept() -> None:
    body = (
        "<w:p><w:del><w:r><w:delText>Old.</w:delText></w:r></w:del><w:ins><w:r><w:t>New.</w:t></w:r></w:ins>"
        '<w:r><w:commentReference w:id="1"/></w:r></w:p>'
    )
    comments = {"word/comments.xml": f'<w:comments {W}><w:comment w:id="1">{p("Remark.")}</w:comment></w:comments>'}
    assert text_of(docx(body, comments)) == "New."


CREATED = "<dcterms:created>2020-01-02T03:04:05Z</dcterms:created>"
MODIFIED = "<dcterms:modified>2023-05-06T00:00:00Z</dcterms:modified>"


@pytest.mark.parametrize(
    ("properties", "date"), [(CREATED + MODIFIED, "2023-05-06"), (CREATED, "2020-01-02"), ("", None)]
)
def test_the_date_is_that_of_the_last_change(properties: str, date: str | None) -> None:
    assert parse_document(Path("a.docx"), docx(p("Text."), core(properties))).date == date


def test_a_style_map_in_the_file_is_not_obeyed() -> None:
    assert text_of(docx(p("Seen."), {"mammoth/style-map": "p => !"})) == "Seen."


@pytest.mark.parametrize(
    "declared",
    ['<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">', '<!ENTITY b SYSTEM "file:///etc/passwd">'],
)
def test_entities_are_refused(declared: str) -> None:
    document = (
        f"<!DOCTYPE x [{declared}]><w:document {W}><w:body><w:p><w:r><w:t>&b;</w:t></w:r></w:p></w:body></w:document>"
    )
    assert complaint(docx("", {"word/document.xml": document})).startswith("a.docx is damaged: ")


def test_what_unpacks_to_too_much_is_refused_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = "a.docx unpacks to more than can be read: split it into smaller files."
    assert complaint(docx(p("x" * 5_000_000))) == wanted  # a thousand times smaller when packed
    monkeypatch.setattr(load_docx_parts, "LARGEST", 500)
    assert complaint(docx(p("x" * 600))) == wanted


def test_a_large_picture_does_not_count() -> None:
    assert text_of(docx(p("Seen."), {"word/media/image1.xml": "x" * 5_000_000})) == "Seen."


NEST = 3_000
DEEP = "<w:tbl><w:tr><w:tc>" * NEST + "</w:tc></w:tr></w:tbl>" * NEST
NOT_DOCX = "is not a DOCX file: save it as DOCX"
DAMAGED = "is damaged: open it in Word or LibreOffice and save it anew as DOCX"
OLD = "is in the old format of Word under a new name: save it as DOCX"


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (OLE + "EncryptedPackage".encode("utf-16-le"), "is encrypted: save it without a password"),
        (OLE + "WordDocument".encode("utf-16-le"), OLD),
        (OLE + b"\0" * 512, NOT_DOCX),
        (rb"{\rtf1 Text}", NOT_DOCX),
        (docx(p("Text."))[:300], "is damaged or cut short: get a complete copy of it"),
        (docx("", {"word/document.xml": "<workbook/>"}), "holds no Word document: save it as DOCX"),
        (docx("", {"word/document.xml": "<w:document"}), DAMAGED),
        (docx(DEEP), "is nested too deep to be read: save it as plain text"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, wanted: str) -> None:
    assert complaint(data) == f"a.docx {wanted}."


def test_a_document_without_text_is_empty() -> None:
    with pytest.raises(EmptyDocument, match=r"^a.docx holds no text: "):
        parse_document(Path("a.docx"), docx("<w:p/>"))


def test_names_with_backslashes_are_found() -> None:
    with zipfile.ZipFile(io.BytesIO(docx(p("Seen.")))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("/", "\\"), content)
    assert text_of(out.getvalue()) == "Seen."


@pytest.mark.parametrize("base", [1, -1])
def test_long_chains_of_styles_are_followed_once(base: int) -> None:
    count = 12_000
    chain = "".join(
        f'<w:style w:type="paragraph" w:styleId="s{number}"><w:basedOn w:val="s{(number + base) % count}"/></w:style>'
        for number in range(1, count)
    )
    first = '<w:style w:type="paragraph" w:styleId="s0"><w:rPr><w:vanish/></w:rPr></w:style>'
    hidden = p("No.", paragraph='<w:pStyle w:val="s6000"/>')
    with bounded():
        assert text_of(docx(hidden + p("Yes."), styles(first + chain))) == "Yes."


def field(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def test_fields_within_fields_are_read_to_a_depth() -> None:
    whole = field("begin") * 100 + field("end") * 100
    assert text_of(docx(f"<w:p>{whole * 20}</w:p>{p('Yes.')}")) == "Yes."
    with bounded():
        reason = complaint(docx(f"<w:p>{field('begin') * 20_000}</w:p>{p('Yes.')}"))
    assert reason == "a.docx is nested too deep to be read: save it as plain text."


@pytest.mark.parametrize(
    ("properties", "first_row", "has_heads"),
    [
        ("", "<w:trPr><w:tblHeader/></w:trPr>", True),
        ('<w:tblStyle w:val="LightGrid"/><w:tblLook w:firstRow="1"/>', "", True),
        ('<w:tblStyle w:val="LightGrid"/><w:tblLook w:val="04A0"/>', "", True),
        ('<w:tblStyle w:val="LightGrid"/><w:tblLook w:val="0480" w:firstRow="0"/>', "", False),
        ('<w:tblStyle w:val="LightGrid"/><w:tblLook w:val="no number"/>', "", False),
        ('<w:tblStyle w:val="TableGrid"/><w:tblLook w:firstRow="1"/>', "", False),
        ("", "", False),
    ],
)
def test_a_row_says_its_columns_where_word_sets_the_first_apart(
    properties: str, first_row: str, has_heads: bool
) -> None:
    table = row("Plan", "Price").replace("<w:tr>", f"<w:tr>{first_row}") + row("Pro", "20")
    text = text_of(docx(f"<w:tbl><w:tblPr>{properties}</w:tblPr>{table}</w:tbl>"))
    assert text == ("Plan: Pro | Price: 20" if has_heads else "Plan | Price\nPro | 20")


STYLED = '<w:pStyle w:val="Clause"/>'


def level(depth: int, text: str, kind: str = "decimal", more: str = "") -> str:
    counted = f'<w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/>'
    return f'<w:lvl w:ilvl="{depth}">{counted}{more}</w:lvl>'


def numbered(text: str, number: int | str = "", depth: int = 0, style: str = "") -> str:
    stated = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>' if number else ""
    return p(text, paragraph=f'<w:pStyle w:val="{style}"/>{stated}')


LISTS = (
    f'<w:abstractNum w:abstractNumId="0">{level(0, "%1.", more=STYLED)}{level(1, "%1.%2")}'
    f"{level(2, '(%3)', 'lowerLetter')}{level(3, '§ %1-%4', 'lowerRoman', '<w:isLgl/>')}</w:abstractNum>"
    f'<w:abstractNum w:abstractNumId="1">{level(0, "Article %1", "upperRoman")}</w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/>'
    '</w:lvlOverride></w:num><w:num w:numId="3"><w:abstractNumId w:val="1"/></w:num>'
)
CLAUSES = styles(
    '<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/>'
    '</w:numPr></w:pPr></w:style><w:style w:type="paragraph" w:styleId="Sub"><w:basedOn w:val="Clause"/><w:pPr>'
    '<w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>'
)


def test_the_numbers_that_word_counts_stand_in_the_text() -> None:
    end = "<w:p><w:pPr>" + STYLED + "<w:sectPr/></w:pPr></w:p>"
    body = (
        numbered("Term", style="Clause")
        + numbered("It is a year.", style="Sub")
        + numbered("unless ended", 1, 2)
        + numbered("or sold", 1, 2)
        + numbered("It renews.", style="Sub")
        + numbered("if paid", 1, 2)
        + end
        + numbered("Rent", style="Clause")
        + numbered("It is due.", 1, 3)
        + numbered("Other", 2)
        + numbered("Last", 2)
        + numbered("Four", 3) * 4
        + numbered("None", "0", style="Clause")
        + numbered("Unknown", 9)
    )
    data = docx(body, CLAUSES | {"word/numbering.xml": f"<w:numbering {W}>{LISTS}</w:numbering>"})
    assert " ".join(text_of(data).split()) == (
        "1. Term 1.1 It is a year. (a) unless ended (b) or sold 1.2 It renews. (a) if paid 2. Rent § 2-1 It is due."
        " 7. Other 8. Last Article I Four Article II Four Article III Four Article IV Four None Unknown"
    )
    loaded = parse_document(Path("a.docx"), data)
    (section,) = loaded.sections
    assert [section.text[one.start : one.end] for one in section.headings][:2] == ["1. Term", "2. Rent"]


def test_a_list_may_count_on_below_another_level_take_its_levels_from_a_style_and_stand_in_a_text_box() -> None:
    below = level(1, "%2. " + "long " * 20, more='<w:lvlRestart w:val="0"/>')
    lists = (
        f'<w:abstractNum w:abstractNumId="0">{level(0, "Part %1")}{below}</w:abstractNum>'
        '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Listed"/></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    )
    number = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    parts = styles(f'<w:style w:type="numbering" w:styleId="Listed">{number}</w:style>')
    boxed = numbered("C", 2)
    box = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        f"<mc:Choice>{boxed}</mc:Choice><mc:Fallback>{boxed}</mc:Fallback></mc:AlternateContent>"
    )
    body = numbered("A", 2) + numbered("B", 2, 1) + box + numbered("D", 2, 1) + numbered("E", 2)
    text = text_of(docx(body, parts | {"word/numbering.xml": f"<w:numbering {W}>{lists}</w:numbering>"}))
    long = "long " * 7 + "lo"
    assert " ".join(text.split()) == f"Part 1 A 1. {long} B Part 2 C 2. {long} D Part 3 E"


def test_headings_in_rows_of_several_cells_are_none_and_a_first_line_can_be_the_title() -> None:
    heading = styles('<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/></w:style>')
    cell = p("Uptime", paragraph='<w:pStyle w:val="H"/>')
    body = f"{p('Lease of a flat')}{p('So. ' * 400)}<w:tbl><w:tr><w:tc>{cell}</w:tc><w:tc>{cell}</w:tc></w:tr></w:tbl>"
    loaded = parse_document(Path("a.docx"), docx(body + p("Later", paragraph='<w:pStyle w:val="H"/>'), heading))
    (section,) = loaded.sections
    assert [section.text[one.start : one.end] for one in section.headings] == ["Later"]
    assert loaded.title == "Lease of a flat"

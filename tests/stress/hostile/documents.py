"""Attack the document readers with damaged files and with fragments of each format's grammar."""

import os
import re
import resource
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from retrieval.sandbox.pool import Readers, Reading, ReadLimits
from tests.integration.retrieval.test_hostile import CATALOG, PAGE, PAGES, stream
from tests.stress.folder import KINDS as SOUND_KINDS
from tests.unit.retrieval.documents.docx_files import docx
from tests.unit.retrieval.documents.pdfs import drawn, pdf_of

SIZE = 600_000  # characters
SLOW = 3.0  # seconds of the processor from which it is looked how they grow
START = 0.5  # seconds of the processor that a reader takes before it reads
GROWTH = 3.0  # times as long for twice as much: between a linear reader and a quadratic one
UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)
LIMITS = ReadLimits(seconds=40, memory=1_000_000_000, text=20_000_000)
SENTENCES = [
    f"The {thing} of room {number} is kept dry." for number, thing in enumerate("oak ash elm yew".split() * 30)
]


class Kind(NamedTuple):
    """``pairs`` are opening and closing fragments of the format; ``wrap`` makes a file of a body."""

    suffix: str
    pairs: Sequence[tuple[str, str]]
    wrap: Callable[[str], bytes]


def _encoded(body: str) -> bytes:
    return body.encode("utf-8", "surrogatepass")


def _pairs(text: str) -> list[tuple[str, str]]:
    """Fragments separated by ``¦``, each ``opening→closing`` or an opening alone."""
    return [(first, last) for first, _, last in (one.partition("→") for one in text.split("¦"))]


def _tags(names: str) -> list[tuple[str, str]]:
    return [(f"<{name}>", f"</{name}>") for name in names.split()]


HTML = [
    *_tags("div p b i a table tr td ul li ol dl dt pre h1 main article nav aside title head body script style svg"),
    *_tags("template form select option button time math noscript iframe br details ruby frameset caption colgroup"),
    *_pairs(
        "<!--¦-->¦<!-¦<!¦<?¦?>¦<![CDATA[¦]]>¦<!DOCTYPE ¦<¦>¦</¦/>¦&¦;¦&amp¦&#¦&#x¦&#1114112;¦&nbsp;¦&lt¦=¦\"¦'¦\x00¦"
        "height:0;¦overflow:hidden;¦opacity:0¦opacity:000¦0¦font-size:0¦left:-¦color:transparent ¦width : 0 ¦scale(0)¦"
        ' style=¦ style="¦<p style=\'¦<meta ¦<meta name="date" content="¦<meta charset=¦2024-05-31¦'
        '<script type="application/ld+json">¦{"dateModified":¦[¦<time datetime=\'¦<a href=\'¦a ¦\n¦<p class=\'hidden¦'
        " hidden ¦ aria-hidden=true ¦<img alt='¦<x:y ¦<b ¦\u200b¦\ud83d¦\t"
    ),
]
MARKDOWN = _pairs(
    "*→*¦**→**¦_→_¦__→__¦`→`¦```→```¦~~→~~¦$→$¦$$→$$¦|→|¦\"→\"¦'→'¦\n---\n→\n---\n¦\n+++\n→\n+++\n¦[→]¦![→]¦(→)¦<→>¦"
    "<!--→-->¦{→}¦[x](→)¦<div>→</div>¦\n# ¦\n> ¦\n- ¦\n1. ¦\n===\n¦\n    ¦\n\t¦\\¦&amp;¦\n|-|-|\n¦\n[^1]: ¦date: ¦\n¦"
    "\n\n¦ ¦a¦A¦1¦. ¦? A¦-\n¦a-\n¦\n \n¦\nA\n\n¦\n\nA¦\x0c¦\r¦\x85"
)
TEXT = _pairs(
    "\n¦ ¦\t¦\x0c¦a¦A¦1¦.¦. ¦. A¦! “¦-\n¦a-\nb¦\n\n¦\nA\n¦\n \n¦…¦。¦あ¦א¦\u202e¦\u200b¦\u0301¦\ufffd¦\ud83d¦\xad¦\xa0¦"
    "\u2028¦\x85¦\x1b[¦\x1b]¦\x1b]0;¦\x07¦Page 1\n¦1\n¦• ¦a b\n¦Mr. ¦A. ¦) ¦”¦\x0b¦\x1c¦#"
)
CSV = _pairs('"¦""¦,¦;¦|¦\t¦\n¦\r¦\r\n¦,¦\'"¦[¦{"¦=¦@¦a¦1¦"a",¦"a"b¦"\n"¦,,¦"\n,¦\u2028¦\x00¦\ufeff')
JSONL = _pairs(
    '[→]¦{"a":→}¦{"text":"→"}¦{"text":"a","metadata":→}¦{"metadata":{"a":→}}¦{"text":"a"}\n¦\n¦,¦'
    '"¦\\¦\\u¦"\\ud83d"¦1e999¦9¦-¦NaN¦null¦true¦ ¦"date":"2024-05-31",¦"page":1,¦"row":1,¦"text":"¦:¦'
    "\u2028¦\x1e¦{}¦\t¦[1,"
)
WORD = _pairs(
    "<w:tbl><w:tr><w:tc>→</w:tc></w:tr></w:tbl>¦<w:p><w:r><w:t>→</w:t></w:r></w:p>¦<w:sdt>→</w:sdt>¦<w:p>→</w:p>¦"
    "<w:r>→</w:r>¦<w:ins>→</w:ins>¦<w:del>→</w:del>¦<a>→</a>¦<w:hyperlink>→</w:hyperlink>¦<w:smartTag>→</w:smartTag>¦"
    "<w:txbxContent>→</w:txbxContent>¦"
    "<mc:AlternateContent xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'>→</mc:AlternateContent>¦"
    "<w:p/>¦<w:r/>¦<w:br/>¦<w:tab/>¦<w:t>a</w:t>¦<w:tr/>¦<w:tc/>¦<w:p><w:r><w:t>a</w:t></w:r></w:p>¦"
    "<w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>¦<w:tc><w:tcPr><w:gridSpan w:val='999999999'/></w:tcPr></w:tc>¦"
    "<w:p><w:pPr><w:numPr><w:ilvl w:val='999999'/><w:numId w:val='1'/></w:numPr></w:pPr></w:p>¦&amp;¦text ¦"
    "<w:p><w:pPr><w:pStyle w:val='s1'/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>¦<w:fldChar w:fldCharType='begin'/>¦"
    "<w:r><w:fldChar w:fldCharType='begin'/><w:instrText> HYPERLINK \"x\" </w:instrText></w:r>¦<!-- -->¦"
    "<w:footnoteReference w:id='1'/>¦<w:commentReference w:id='1'/>¦<w:bookmarkStart w:name='a' w:id='1'/>¦"
    "<w:drawing/>¦<w:pict/>¦<w:sym w:font='Symbol' w:char='F0FF'/>¦<?x y?>¦<![CDATA[x]]>"
)
OPERATORS = _pairs(
    "q →Q ¦BT →ET ¦[→]¦<<→>>¦(→)¦BI →EI ¦/a BDC →EMC ¦<→>¦(a) Tj ¦1 0 0 1 0 0 cm ¦/F1 12 Tf ¦0 0 m ¦9 9 l ¦S ¦f ¦"
    "1 1 Td ¦T* ¦[(a) 99 (b)] TJ ¦/F1 1e30 Tf ¦(a) ' ¦999999999999999999999999999999 ¦-¦.¦%¦\\¦/¦ID ¦"
    "1 0 0 1 1e9 1e9 Tm ¦/X Do ¦sh ¦BT /F1 1 Tf (a) Tj ET ¦BT /F1 9 Tf 1 0 0 1 5 5 Tm (word) Tj ET ¦W n ¦#20¦true ¦"
    "null ¦R "
)
OBJECTS = _pairs(
    "[→]¦<<→>>¦(→)¦<< /A →>>¦<< /Kids [→] >>¦stream\n→\nendstream\n¦3 0 R ¦2 0 R ¦99 0 R ¦/A ¦1 ¦null ¦endobj\n¦"
    "5 0 obj\n¦xref\n¦trailer ¦%¦#41¦/Filter /FlateDecode ¦/Length 99999999 ¦/Prev 9 ¦/Type /ObjStm ¦/Parent 3 0 R ¦"
    "-¦<¦R ¦/Contents [4 0 R] ¦/Annots [3 0 R] ¦/Resources 3 0 R ¦/MediaBox [0 0 1e30 1e30] ¦/UserUnit 1e30 "
)
DATES = _pairs("2¦D:¦2024¦-¦'¦T¦Z¦ ¦May ¦31¦+00'00'¦0¦/¦:¦²¦٣¦,")


def _within(start: str, end: str = "") -> Callable[[str], bytes]:
    return lambda body: _encoded(start + body + end)


def _word_parts(body: str) -> bytes:
    return docx("<w:p><w:r><w:t>It is so.</w:t></w:r></w:p>", {f"{at}/{body[:50]}": "x" for at in range(3_000)})


def _word_numbers(body: str) -> bytes:
    return docx(body, {"word/numbering.xml": f"<w:numbering>{body}</w:numbering>"})


def _word_notes(body: str) -> bytes:
    return docx(body, {"word/footnotes.xml": f"<w:footnotes>{body}</w:footnotes>"})


def _pdf_page(body: str) -> bytes:
    return drawn(body.encode("latin-1", "replace").decode("latin-1"))


def _pdf_objects(body: str) -> bytes:
    page = PAGE[:-2] + b"/A " + body.encode("latin-1", "replace") + b">>"
    return pdf_of(CATALOG, PAGES, page, stream(b"BT (a) Tj ET", b""), stream(b"", b""))


KINDS: dict[str, Kind] = {
    "html": Kind("html", HTML, _encoded),
    "html within a page": Kind("htm", HTML, _within("<html><body><p>It is so. ", "</body></html>")),
    "html within an attribute": Kind("html", HTML, _within('<p style="', '">It is so.')),
    "html date": Kind("html", DATES, _within('<meta name="date" content="', '"><p>It is so.')),
    "xhtml": Kind("xhtml", HTML, _within('<?xml version="1.0"?><html><p>It is so.</p>', "</html>")),
    "markdown": Kind("md", MARKDOWN, _encoded),
    "front matter": Kind("md", [*MARKDOWN, *DATES], _within("---\ndate: ", "\n---\nIt is so.")),
    "text": Kind("txt", TEXT, _encoded),
    "csv": Kind("csv", CSV, _within("a,b\n")),
    "csv header": Kind("csv", CSV, _encoded),
    "tsv": Kind("tsv", CSV, _within("a\tb\n")),
    "jsonl": Kind("jsonl", JSONL, _encoded),
    "jsonl in a line": Kind("jsonl", JSONL, _within('{"text":"It is so.","metadata":', "}\n")),
    "docx": Kind("docx", WORD, docx),
    "docx numbers": Kind("docx", WORD, _word_numbers),
    "docx notes": Kind("docx", WORD, _word_notes),
    "docx members": Kind("docx", [*_tags("a b"), *_pairs("/¦..¦\\¦word/¦\u202e")], _word_parts),
    "pdf": Kind("pdf", OPERATORS, _pdf_page),
    "pdf after text": Kind("pdf", OPERATORS, lambda body: _pdf_page("BT /F1 12 Tf 9 9 Td (It is so.) Tj ET " + body)),
    "pdf objects": Kind("pdf", OBJECTS, _pdf_objects),
}
SUFFIXES = ("pdf", "docx", "html", "md", "csv", "tsv", "jsonl", "txt", "PDF", "xhtml", "ndjson")
WAYS = ("repeated", "nested", "between", "in any order")
HARMS = ("none", "none", "none", "bytes exchanged", "others put in", "cut", "another suffix")


def made(dice: Random, size: int) -> tuple[str, bytes]:
    """Return the suffix and the content of a file of about ``size`` characters of a few fragments."""
    kind, harm = dice.choice(list(KINDS.values())), dice.choice(HARMS)
    body = _arranged(kind, dice, size)
    if harm == "none":
        return kind.suffix, kind.wrap(body)
    if harm == "another suffix":
        return dice.choice([one for one in SUFFIXES if one != kind.suffix]), kind.wrap(body)
    suffix = kind.suffix if kind.suffix in SOUND_KINDS else dice.choice(sorted(SOUND_KINDS))
    data = bytearray(SOUND_KINDS[suffix](SENTENCES))
    first, second = sorted(dice.randrange(len(data)) for _ in range(2))
    if harm == "cut":
        return suffix, bytes(data[:second]) * dice.choice((1, 2, 50))
    if harm == "others put in":
        other = kind.wrap(body)
        return suffix, bytes(data[:second]) + other[: dice.randrange(len(other))] + bytes(data[first:])
    for _ in range(dice.choice((1, 10, 100, 1_000))):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return suffix, bytes(data)


def _arranged(kind: Kind, dice: Random, size: int) -> str:
    pairs, way = dice.choices(kind.pairs, k=dice.randint(1, 3)), dice.choice(WAYS)
    if way == "repeated":
        whole = kind.suffix == "docx"  # of XML that is not well-formed nothing is read
        unit = "".join(first + last * (whole or dice.randrange(2)) for first, last in pairs) or " "
        return unit * (size // len(unit))
    if way == "nested":
        first, last = dice.choice([pair for pair in kind.pairs if pair[1]] or kind.pairs)
        times = size // (len(first) + len(last))
        return first * times + "It is so." + last * times * dice.randrange(2)
    if way == "between":
        around = dice.choice(kind.pairs)[0]
        return around + pairs[0][0] * (size // len(pairs[0][0])) + around
    return "".join(word for pair in dice.choices(kind.pairs, k=size // 20) for word in pair)[:size]


def play(folder: Path, dice: Random) -> Iterator[str]:
    """Read a hostile file and a sound one after it; yield violations."""
    seed = dice.random()
    suffix, data = made(Random(seed), SIZE)
    path, following, half = folder / f"a.{suffix}", folder / "next.txt", folder / f"half.{suffix}"
    path.write_bytes(data)
    following.write_text("This is next.")
    took, (reading, after) = _read(path, following)
    about = f"{suffix} of {len(data):,} bytes, {data[200:280]!r}"
    if took > SLOW:
        half.write_bytes(made(Random(seed), SIZE // 2)[1])
        less, _ = _read(half)
        if took > GROWTH * less or "longer" in reading.reason:
            yield f"growth: {took:.1f} s, {less:.1f} s for half of it ({reading.reason}): {about}"
    if after.status != "read":
        yield f"reader: the next file was not read: {after.reason}: {about}"
    if reading.status == "failed" and ("crash" in reading.reason or "(" in reading.reason):
        yield f"reader: {reading.reason}: {about}"
    if reading.reason and not re.fullmatch(r".{10,300}\.", reading.reason):
        yield f"reader: no sentence: {reading.reason[:400]!r}: {about}"
    text = "".join(section.text for section in reading.loaded.sections) if reading.loaded else ""
    if found := UNSHOWN.search(text + reading.reason):
        yield f"control: {found.group()!r} in what was read of {about}"


def _read(*paths: Path) -> tuple[float, list[Reading]]:
    """Read the files with a fresh reader; return CPU seconds without its start-up, and the readings."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Readers(LIMITS, workers=1) as readers:
        found = list(readers.read([os.fsencode(path) for path in paths]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return max(0.1, took - START), found

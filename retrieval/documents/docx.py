"""Read the text of a Word document (DOCX): headings, paragraphs, lists, tables and notes, in order."""

import io
import itertools
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element, ParseError, SubElement, TreeBuilder, XMLParser, tostring

from core.text import clean
from retrieval.documents.decode import stated_day
from retrieval.documents.docx_numbers import Numbers, local_name, value_of
from retrieval.documents.headings import first_line, stated_title
from retrieval.documents.html import read_html
from retrieval.documents.loaded import Loaded

LARGEST = 64_000_000  # bytes of XML unpacked: parsed, they take twenty times that in memory
MAX_RATIO = 300  # of compression: repeated text comes near to 100
_RATIO_FROM = 1_000_000  # bytes: the ratio of a smaller part is not limited
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_OLD_WORD = "WordDocument".encode("utf-16-le")
_PART = re.compile(r"(?:.*/)?[^/]+\.(?:xml|rels)$", re.I)
_WITHOUT_TEXT = re.compile(
    r"customXml/|docProps/(?!core)|.*/(?:theme|charts|diagrams|embeddings|glossary|media)/"
    r"|.*/(?:stylesWithEffects|settings|webSettings|fontTable|header\d*|footer\d*)\.xml",
    re.I,
)
_FIELDS = 500  # levels of nesting: mammoth searches all of them for each run
_TINY = 2  # half points: text of one point is meant for machines only
_PICTURES = ("blip", "imagedata", "rt")  # rt: the reading above a Japanese word
_TRANSPARENT = ("fldSimple", "dir", "bdo", "ruby", "rubyBase")  # mammoth would drop their content
_RENAMED = {**dict.fromkeys(_TRANSPARENT, "smartTag"), "cr": "br", "ptab": "tab"}
_PLAIN_TABLES = ("", "TableNormal", "TableGrid", "TableGridLight")  # styles that set no row apart
_ON = ("1", "true", "on")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,8}")
_FIRST_ROW = 0x20  # the flag ``firstRow`` in older documents
_DAMAGED = "is damaged: open it in Word or LibreOffice and save it anew as DOCX"


def parts_of(data: bytes) -> dict[str, Element]:
    """Return the XML parts that may hold text, by name.

    Raises ``ValueError``, whose message completes a sentence that begins with the file's name.
    """
    if data.startswith(_OLE):
        if _ENCRYPTED in data:
            raise ValueError("is encrypted: save it without a password")
        if _OLD_WORD in data:
            raise ValueError("is in the old format of Word under a new name: save it as DOCX")
    if not data.startswith(b"PK"):
        raise ValueError("is not a DOCX file: save it as DOCX")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            roots = _unpacked(archive)
    except RuntimeError as error:  # raised by zipfile for a member that needs a password
        raise ValueError("is encrypted: save it without a password") from error
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError("is damaged or cut short: get a complete copy of it") from error
    except Exception as error:
        raise ValueError(_DAMAGED) from error
    if roots is None:
        raise ValueError("unpacks to more than can be read: split it into smaller files")
    if not any(local_name(root) == "document" for root in roots.values()):
        raise ValueError("holds no Word document: save it as DOCX")
    return roots


def text_only(parts: Mapping[str, Element]) -> io.BytesIO:
    """Return a DOCX of the parts without hidden text and pictures, and with the numbers of its paragraphs.

    Raises ``RecursionError`` when fields are nested too deep.
    """
    hidden = _hidden_styles(parts.values())
    numbers = Numbers(parts)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, root in parts.items():
            if local_name(root) in ("document", "footnotes", "endnotes", "comments"):
                _drop_hidden(root, hidden)
                _check_fields(root)
                _mark_header_rows(root)
                numbers.write(root)
                _drop_headings_in_tables(root)
            archive.writestr(name, tostring(root))
    out.seek(0)
    return out


class _NoTypeBuilder(TreeBuilder):
    """A builder that refuses a document type, which can declare entities that expand or refer to other files."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Raise ``ParseError``; called by the parser for a document type."""
        raise ParseError(f"a document type {name} is declared")


def _unpacked(archive: zipfile.ZipFile) -> dict[str, Element] | None:
    """Return the parts; None if they are larger than ``LARGEST`` bytes, or compressed by more than ``MAX_RATIO``."""
    members = {info.filename.replace("\\", "/"): info for info in archive.infolist()}
    members = {name: info for name, info in members.items() if _PART.match(name) and not _WITHOUT_TEXT.match(name)}
    bomb = any(info.file_size > max(_RATIO_FROM, MAX_RATIO * info.compress_size) for info in members.values())
    if bomb or sum(info.file_size for info in members.values()) > LARGEST:
        return None
    roots = {}
    for name, info in members.items():
        parser = XMLParser(target=_NoTypeBuilder())  # noqa: S314 - entities are refused, and it opens no files
        parser.feed(archive.read(info))  # zipfile reads no more than the declared size
        roots[name] = parser.close()
    return roots


def _hidden_styles(roots: Iterable[Element]) -> frozenset[str]:
    """Return the ids of the styles that hide their text, themselves or by inheritance."""
    own: dict[str, bool | None] = {}
    base: dict[str, str] = {}
    for root in roots:
        for style in root.findall("{*}style") if local_name(root) == "styles" else ():
            name = value_of(style, "styleId")
            own[name] = _hides(style.find("{*}rPr"))
            base[name] = value_of(style.find("{*}basedOn"))
    hidden: dict[str, bool] = {}
    for name in own:
        inheriting: dict[str, None] = {}
        ancestor = name
        while own.get(ancestor, False) is None and ancestor not in hidden and ancestor not in inheriting:
            inheriting[ancestor] = None
            ancestor = base[ancestor]
        hidden.update(dict.fromkeys([*inheriting, name], hidden.get(ancestor, bool(own.get(ancestor)))))
    return frozenset(name for name, hides in hidden.items() if hides)


def _drop_hidden(root: Element, hidden_styles: frozenset[str]) -> None:
    """Remove hidden runs and pictures; replace elements that mammoth would drop by others that it keeps."""
    stack = [(root, False)]
    while stack:
        parent, hidden = stack.pop()
        kept = []
        for child in parent:
            name = local_name(child)
            if name in _PICTURES or (name == "r" and _is_hidden(child, hidden, hidden_styles)):
                continue
            if name == "oMath":
                child = _formula(child)
            elif name in _RENAMED:
                child.tag = child.tag.replace(name, _RENAMED[name])
            kept.append(child)
            style = value_of(child.find("{*}pPr/{*}pStyle")) if name == "p" else ""
            stack.append((child, style in hidden_styles if name == "p" else hidden))
        parent[:] = kept


def _mark_header_rows(root: Element) -> None:
    """Mark the first row of each table as a header row (``tblHeader``) if the table's style sets that row apart."""
    for table in root.iter():
        properties = table.find("{*}tblPr") if local_name(table) == "tbl" else None
        row = table.find("{*}tr")
        if properties is None or row is None or value_of(properties.find("{*}tblStyle")) in _PLAIN_TABLES:
            continue
        look = properties.find("{*}tblLook")
        flags = value_of(look)
        if value_of(look, "firstRow") in _ON or (_HEXADECIMAL.fullmatch(flags) and int(flags, 16) & _FIRST_ROW):
            marked = row.find("{*}trPr")
            if marked is None:
                marked = Element(row.tag + "Pr")
                row.insert(0, marked)
            SubElement(marked, row.tag[:-2] + "tblHeader")


def _drop_headings_in_tables(root: Element) -> None:
    """Remove the styles of paragraphs in rows of several cells: what is a heading there has no text below it."""
    for row in root.iter():
        if local_name(row) == "tr" and len(row.findall("{*}tc")) > 1:
            for properties in row.findall("{*}tc/{*}p/{*}pPr"):
                properties[:] = [one for one in properties if local_name(one) != "pStyle"]


def _check_fields(root: Element) -> None:
    depth = 0
    for mark in root.iter():
        kind = value_of(mark, "fldCharType") if mark.tag.endswith("}fldChar") else ""
        depth += (kind == "begin") - (kind == "end" and depth > 0)
        if depth > _FIELDS:
            raise RecursionError


def _is_hidden(run: Element, hidden: bool, hidden_styles: frozenset[str]) -> bool:
    properties = run.find("{*}rPr")
    if properties is None:
        return hidden
    own = _hides(properties)
    if own is not None:
        return own
    return hidden or value_of(properties.find("{*}rStyle")) in hidden_styles


def _hides(properties: Element | None) -> bool | None:
    """Return whether text properties hide the text; None when they leave that to the style."""
    if properties is None:
        return None
    size = value_of(properties.find("{*}sz"))
    if size.isdecimal() and int(size) <= _TINY:
        return True
    vanish = properties.find("{*}vanish")
    return None if vanish is None else value_of(vanish) not in ("0", "false", "off")


def _formula(math: Element) -> Element:
    run = Element("{http://schemas.openxmlformats.org/wordprocessingml/2006/main}r")
    text = SubElement(run, run.tag[:-1] + "t")
    text.text = "".join(part.text or "" for part in math.iter() if local_name(part) == "t")
    return run


_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => h2:fresh
br[type='page'] => br
br[type='column'] => br
"""
_NOTE = re.compile(r'(<li id="(?:foot|end)note-[^"]*">(?:<p>)?)')
_BACK = re.compile(r'<a href="#(?:foot|end)note-ref-[^"]*">↑</a>')  # the link from a note back to its reference


def read_docx(data: bytes) -> Loaded:
    """Return the text, with a blank line between paragraphs, the title, the headings and the day of the last change.

    Notes stand at the end, numbered as in the text: "[1]". Raises ``ValueError``, whose message completes a sentence
    that begins with the file's name.
    """
    from mammoth import convert_to_html  # type: ignore[import-untyped]

    parts = parts_of(data)
    try:
        # An embedded style map could hide or rename content, and pictures could refer to any file.
        page = convert_to_html(
            text_only(parts), style_map=_STYLES, include_embedded_style_map=False, external_file_access=False
        ).value
    except RecursionError as error:
        raise ValueError("is nested too deep to be read: save it as plain text") from error
    except Exception as error:
        raise ValueError(_DAMAGED) from error
    count = itertools.count(1)
    found = read_html(_NOTE.sub(lambda match: f"{match[1]}[{next(count)}] ", _BACK.sub("", page)))
    core = parts.get("docProps/core.xml", Element("core"))
    title, *days = (core.findtext("{*}" + name) for name in ("title", "modified", "created"))
    titles = (found.title, stated_title(clean(title or "")), *(first_line(one.text) for one in found.sections))
    return replace(found, title=next(filter(None, titles), ""), date=stated_day(*days))

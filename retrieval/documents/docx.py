"""Read the text of a Word document (DOCX): headings, paragraphs, lists, tables and notes, in order."""

import io
import itertools
import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, SubElement, TreeBuilder, XMLParser, tostring

from retrieval.documents.decode import stated_day
from retrieval.documents.html import read_html

LARGEST = 64_000_000  # bytes of XML unpacked: as objects they take twenty times that in memory
STEEPEST = 300  # times smaller than its content is a packed part at most: repeated text comes near to 100
_STEEP_FROM = 1_000_000  # bytes: a smaller part may be as repetitive as it likes
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_OLD_WORD = "WordDocument".encode("utf-16-le")
_PART = re.compile(r"(?:.*/)?[^/]+\.(?:xml|rels)$", re.I)
_WITHOUT_TEXT = re.compile(
    r"customXml/|docProps/(?!core)|.*/(?:theme|charts|diagrams|embeddings|glossary|media)/"
    r"|.*/(?:stylesWithEffects|settings|webSettings|fontTable|header\d*|footer\d*)\.xml",
    re.I,
)
_FIELDS = 500  # within one another: mammoth looks through all of them at each run
_TINY = 2  # half points: text of one point is there to be found by machines only
_PICTURES = ("blip", "imagedata", "rt")  # and the reading over a Japanese word
_TRANSPARENT = ("fldSimple", "dir", "bdo", "ruby", "rubyBase")  # mammoth would leave out what is in them
_RENAMED = {**dict.fromkeys(_TRANSPARENT, "smartTag"), "cr": "br", "ptab": "tab"}
_DAMAGED = "is damaged: open it in Word or LibreOffice and save it anew as DOCX"


@dataclass(frozen=True)
class Parts:
    """The parts by their names in the file, and the day when the document was last changed."""

    roots: Mapping[str, Element]
    date: str | None


def parts_of(data: bytes) -> Parts:
    """Read the parts that text can be in.

    Raises ``ValueError`` with the rest of a sentence that begins with the file's name.
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
    except _TooLargeError as error:
        raise ValueError("unpacks to more than can be read: split it into smaller files") from error
    except RuntimeError as error:  # zipfile's word for a member that needs a password
        raise ValueError("is encrypted: save it without a password") from error
    except (zipfile.BadZipFile, EOFError) as error:
        raise ValueError("is damaged or cut short: get a complete copy of it") from error
    except Exception as error:
        raise ValueError(_DAMAGED) from error
    if not any(_local(root) == "document" for root in roots.values()):
        raise ValueError("holds no Word document: save it as DOCX")
    return Parts(roots, _day(roots))


def text_only(parts: Parts) -> io.BytesIO:
    """Write the parts as a file of their own, without hidden text and without pictures.

    Raises ``RecursionError`` when fields are nested too deep.
    """
    hidden = _hidden_styles(parts.roots.values())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, root in parts.roots.items():
            if _local(root) in ("document", "footnotes", "endnotes", "comments"):
                _drop_hidden(root, hidden)
                _check_fields(root)
            archive.writestr(name, tostring(root))
    out.seek(0)
    return out


class _TooLargeError(Exception):
    """What is declared to be in the file is more than ``LARGEST``, or packed more than ``STEEPEST`` times."""


class _NoTypeBuilder(TreeBuilder):
    """Refuse a document type: it declares entities, which grow or reach for other files."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Called by the parser where a document type is declared."""
        raise ParseError(f"a document type {name} is declared")


def _unpacked(archive: zipfile.ZipFile) -> dict[str, Element]:
    members = {info.filename.replace("\\", "/"): info for info in archive.infolist()}
    members = {name: info for name, info in members.items() if _PART.match(name) and not _WITHOUT_TEXT.match(name)}
    steep = any(info.file_size > max(_STEEP_FROM, STEEPEST * info.compress_size) for info in members.values())
    if steep or sum(info.file_size for info in members.values()) > LARGEST:
        raise _TooLargeError
    roots = {}
    for name, info in members.items():
        parser = XMLParser(target=_NoTypeBuilder())  # noqa: S314 - it declares no entities, and opens nothing
        parser.feed(archive.read(info))  # no more than it declares: zipfile stops there
        roots[name] = parser.close()
    return roots


def _day(roots: Mapping[str, Element]) -> str | None:
    core = roots.get("docProps/core.xml")
    if core is None:
        return None
    return stated_day(*(core.findtext("{*}" + name) for name in ("modified", "created")))


def _hidden_styles(roots: Iterable[Element]) -> frozenset[str]:
    """Return the ids of the styles whose text is hidden, by themselves or by what they are based on."""
    own: dict[str, bool | None] = {}
    base: dict[str, str] = {}
    for root in roots:
        for style in root.findall("{*}style") if _local(root) == "styles" else ():
            name = _value(style, "styleId")
            own[name] = _hides(style.find("{*}rPr"))
            base[name] = _value(style.find("{*}basedOn"))
    hidden: dict[str, bool] = {}
    for name in own:
        undecided: dict[str, None] = {}
        at = name
        while own.get(at, False) is None and at not in hidden and at not in undecided:
            undecided[at] = None
            at = base[at]
        hidden.update(dict.fromkeys([*undecided, name], hidden.get(at, bool(own.get(at)))))
    return frozenset(name for name, hides in hidden.items() if hides)


def _drop_hidden(root: Element, hidden_styles: frozenset[str]) -> None:
    """Take out hidden runs and pictures; rename what mammoth does not know."""
    waiting = [(root, False)]
    while waiting:
        parent, hidden = waiting.pop()
        kept = []
        for child in parent:
            name = _local(child)
            if name in _PICTURES or (name == "r" and _is_hidden(child, hidden, hidden_styles)):
                continue
            if name == "oMath":
                child = _formula(child)
            elif name in _RENAMED:
                child.tag = child.tag.replace(name, _RENAMED[name])
            kept.append(child)
            style = _value(child.find("{*}pPr/{*}pStyle")) if name == "p" else ""
            waiting.append((child, style in hidden_styles if name == "p" else hidden))
        parent[:] = kept


def _check_fields(root: Element) -> None:
    depth = 0
    for mark in root.iter():
        kind = _value(mark, "fldCharType") if mark.tag.endswith("}fldChar") else ""
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
    return hidden or _value(properties.find("{*}rStyle")) in hidden_styles


def _hides(properties: Element | None) -> bool | None:
    """Whether properties of text hide it; None when they leave that to its style."""
    if properties is None:
        return None
    size = _value(properties.find("{*}sz"))
    if size.isdecimal() and int(size) <= _TINY:
        return True
    vanish = properties.find("{*}vanish")
    return None if vanish is None else _value(vanish) not in ("0", "false", "off")


def _formula(math: Element) -> Element:
    """Return a run with the letters of a formula."""
    run = Element("{http://schemas.openxmlformats.org/wordprocessingml/2006/main}r")
    text = SubElement(run, run.tag[:-1] + "t")
    text.text = "".join(part.text or "" for part in math.iter() if _local(part) == "t")
    return run


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _value(element: Element | None, name: str = "val") -> str:
    """Return an attribute without regard to its name space: that of Word, or of strict Open XML."""
    if element is None:
        return ""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => h2:fresh
br[type='page'] => br
br[type='column'] => br
"""
_NOTE = re.compile(r'(<li id="(?:foot|end)note-[^"]*">(?:<p>)?)')
_BACK = re.compile(r'<a href="#(?:foot|end)note-ref-[^"]*">↑</a>')  # the link from a note to its place


def read_docx(data: bytes) -> tuple[str, str | None]:
    """Return the text, a blank line between paragraphs, and the day of the last change.

    A note stands at the end under the number that its place in the text has: "[1]". Raises
    ``ValueError`` with the rest of a sentence that begins with the file's name.
    """
    from mammoth import convert_to_html  # type: ignore[import-untyped]

    parts = parts_of(data)
    try:
        # Its own style map could hide or rename things, and its pictures could lie anywhere.
        page = convert_to_html(
            text_only(parts), style_map=_STYLES, include_embedded_style_map=False, external_file_access=False
        ).value
    except RecursionError as error:
        raise ValueError("is nested too deep to be read: save it as plain text") from error
    except Exception as error:
        raise ValueError("is damaged: open it in Word or LibreOffice and save it anew as DOCX") from error
    count = itertools.count(1)
    page = _NOTE.sub(lambda match: f"{match[1]}[{next(count)}] ", _BACK.sub("", page))
    return read_html(page), parts.date

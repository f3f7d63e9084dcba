"""Make DOCX files to read, by hand: what Word writes need not be all there."""

import io
import zipfile
from collections.abc import Mapping

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONSHIPS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{_TYPES}/officeDocument" Target="word/document.xml"/></Relationships>'
)
_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
    ' xmlns:dcterms="http://purl.org/dc/terms/">{}</cp:coreProperties>'
)


def docx(body: str, parts: Mapping[str, str] | None = None) -> bytes:
    """Return a DOCX with this body and with further parts by name."""
    members = {
        "_rels/.rels": _RELATIONSHIPS,
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        **(parts or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def p(text: str, run: str = "", paragraph: str = "") -> str:
    """Return a paragraph of one run; ``run`` and ``paragraph`` are properties."""
    return f"<w:p><w:pPr>{paragraph}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def core(properties: str) -> dict[str, str]:
    return {"docProps/core.xml": _CORE.format(properties)}


def styles(definitions: str) -> dict[str, str]:
    return {"word/styles.xml": f"<w:styles {W}>{definitions}</w:styles>"}

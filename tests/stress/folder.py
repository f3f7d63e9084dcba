"""Write folders of documents that grow, change and shrink, each version with sentences of its own."""

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fpdf import FPDF

from tests.unit.retrieval.documents.docx_files import docx, p

ROWS = 40  # sentences in a document
MOST = 90  # documents
LEAST = 30
WORDS = "valve ledger harbour orchard lantern granite ferry meadow copper violin saddle glacier canvas turbine".split()


@dataclass
class Folder:
    """Documents by number with their versions; ``name`` sets the folder's sentences apart from another's."""

    path: Path
    name: str
    versions: dict[int, int] = field(default_factory=dict)
    growing: bool = True

    def add(self, number: int) -> None:
        """Write a document, or its next version."""
        version = self.versions.get(number, 0) + 1
        self.versions[number] = version
        self.path.mkdir(parents=True, exist_ok=True)
        lines = [sentence(self.name, number, version, row) for row in range(ROWS)]
        self.file(number).write_bytes(KINDS[kind_of(number)](lines))

    def file(self, number: int) -> Path:
        return self.path / f"{number:03}.{kind_of(number)}"

    def turn(self, dice: Random) -> None:
        """Add or remove some documents, growing and shrinking in turn, and change others."""
        self.growing = len(self.versions) < (MOST if self.growing else LEAST)
        for _ in range(dice.randint(1, 12)):
            if self.growing:
                self.add(max(self.versions, default=0) + 1)
            elif len(self.versions) > 1:
                gone = dice.choice(sorted(self.versions))
                self.file(gone).unlink()
                del self.versions[gone]
        for number in dice.sample(sorted(self.versions), min(len(self.versions), dice.randint(1, 8))):
            self.add(number)

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each document on disk, by the path that the index uses."""
        files = (self.file(number) for number in self.versions)
        return {os.path.realpath(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    def known(self) -> dict[str, str]:
        """A sentence unique to the current version of each document, by path."""
        return {
            os.path.realpath(self.file(number)): sentence(self.name, number, version, ROWS // 2)
            for number, version in self.versions.items()
        }


def sentence(name: str, number: int, version: int, row: int) -> str:
    """A sentence whose second word occurs in no other sentence or version."""
    dice = Random(f"{name} {number} {version} {row}")
    mark = f"{name}{number}v{version}r{row}"
    return f"Item {mark} lists {' and '.join(dice.choices(WORDS, k=6))} for {dice.randrange(10**6)} crowns."


def kind_of(number: int) -> str:
    return list(KINDS)[number % len(KINDS)]


def _text(lines: list[str]) -> bytes:
    return "\n\n".join(lines).encode()


def _csv(lines: list[str]) -> bytes:
    return ("place,text\n" + "".join(f"{place},{line}\n" for place, line in enumerate(lines))).encode()


def _jsonl(lines: list[str]) -> bytes:
    return "".join(json.dumps({"text": line, "date": "2024-05-17"}) + "\n" for line in lines).encode()


def _html(lines: list[str]) -> bytes:
    return f"<html><title>Items</title><body><p>{'</p><p>'.join(lines)}</p></body></html>".encode()


def _docx(lines: list[str]) -> bytes:
    return docx("".join(map(p, lines)))


def _pdf(lines: list[str]) -> bytes:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=8)
    for page in (lines[: ROWS // 2], lines[ROWS // 2 :]):
        pdf.add_page()
        for line in page:
            pdf.cell(0, 5, line, new_x="LMARGIN", new_y="NEXT")
    return bytes(pdf.output())


KINDS: dict[str, Callable[[list[str]], bytes]] = {
    "txt": _text,
    "csv": _csv,
    "md": _text,
    "jsonl": _jsonl,
    "html": _html,
    "docx": _docx,
    "pdf": _pdf,
}

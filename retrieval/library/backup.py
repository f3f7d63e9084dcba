"""A backup of a library in one file: a ZIP archive of JSON Lines, NumPy arrays and uploads; nothing is executed."""

import base64
import io
import json
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
from langchain_core.documents import Document
from pydantic import TypeAdapter

from core.errors import RequestError
from core.files import is_below, open_private
from core.text import shown_path
from retrieval.library.copying import CopySource, content_of, record_batches
from retrieval.store import UPLOADS, Contents, FileRecord, KeptFiles, Made, Roots, Upload, path_of
from retrieval.sync_report import Progress

FORMAT = 3  # 2 had the size and hash of each member
MANIFEST = "manifest.json"
EXTRA = "threads.jsonl"
RECORD = TypeAdapter(FileRecord)
LARGEST_MANIFEST = 500_000_000  # bytes
Place = tuple[int, int, int]  # where a document's passages are: the part, the line, and the row of their first vector


def write_backup(source: CopySource, file: Path, extra: Sequence[str], progress: Progress | None = None) -> int:
    """Write a library with its threads, the JSON lines ``extra``, or no file at all; return the number of documents."""
    new = file.with_name(f".{file.name}.part")
    records = source.records()
    try:
        with (
            os.fdopen(open_private(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as raw,
            zipfile.ZipFile(raw, "w", zipfile.ZIP_STORED, allowZip64=True) as archive,
        ):
            for number, batch in enumerate(record_batches(records, progress)):
                _write_part(archive, number, batch, source.contents([record.id for record in batch]))
            uploads = _write_uploads(archive, source.uploads) if source.uploads else []
            archive.writestr(EXTRA, "".join(f"{line}\n" for line in extra))
            roots = source.roots()
            manifest = {
                "format": FORMAT,
                "made": asdict(source.made()),
                "roots": {
                    _name(path): kind for path, kind in (dict.fromkeys(roots.elsewhere, "folder") | roots.kinds).items()
                },
                "followed": [_name(path) for path in roots.followed],
                "excluded": sorted(roots.excluded),
                "uploads": uploads,
                "documents": len(records),
                "passages": sum(record.passages for record in records.values()),
            }
            archive.writestr(MANIFEST, json.dumps(manifest))
        with new.open("rb") as written:
            os.fsync(written.fileno())
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return len(records)


def _write_part(
    archive: zipfile.ZipFile, number: int, batch: list[FileRecord], contents: Mapping[int, Contents]
) -> None:
    lines, rows = [], []
    for record in batch:
        passages, vectors = contents.get(record.id, ([], None))
        if len(passages) != record.passages:
            raise RequestError(f"{shown_path(path_of(record.path).name)} changed while it was saved: back up again.")
        row = asdict(record) | {"path": _name(record.path), "id": 0}
        row["texts"] = [{"text": one.page_content, "metadata": one.metadata} for one in passages]
        lines.append(json.dumps(row))
        rows += [] if vectors is None else list(vectors)
    archive.writestr(f"documents-{number:06}.jsonl", "".join(f"{line}\n" for line in lines))
    array = io.BytesIO()
    np.save(array, np.asarray(rows, dtype=np.float32), allow_pickle=False)
    archive.writestr(f"vectors-{number:06}.npy", array.getvalue())


def _write_uploads(archive: zipfile.ZipFile, files: KeptFiles) -> list[dict[str, Any]]:
    """Write each upload as a member of its own; return their entries for the manifest."""
    rows = []
    for number, (path, known) in enumerate(files.stored().items()):
        upload, content = content_of(files, path, known)
        member = f"upload-{number:06}"
        archive.writestr(member, content)
        rows.append({"path": _name(path), "member": member, **asdict(upload)})
    return rows


class Backup(AbstractContextManager["Backup"]):
    """A `CopySource` that reads a backup, after checking the whole file on opening; use it as a context manager."""

    def __init__(self, file: Path) -> None:
        """Check every member. Raises ``RequestError`` for a file that is no backup, incomplete, damaged or too new."""
        self._shown = shown_path(file)
        try:
            self._archive = zipfile.ZipFile(file)
        except FileNotFoundError:
            raise RequestError(f"There is no file {self._shown}: check the path.") from None
        except (OSError, zipfile.BadZipFile, EOFError) as error:
            raise RequestError(f"{self._shown} is no backup, or was cut: name a whole one.") from error
        try:
            self._manifest = self._checked()
            self._records, self._places = self._listed()
            self._uploads = self._saved_uploads()
        except BaseException as error:
            self._archive.close()
            if isinstance(
                error, ValueError | KeyError | TypeError | zipfile.BadZipFile | EOFError | NotImplementedError | OSError
            ):
                raise RequestError(f"{self._shown} is damaged: name another backup.") from error
            raise

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def made(self) -> Made:
        made = self._manifest["made"]
        return Made(made["embedding"], made["dimension"], made["splitter"])

    def roots(self) -> Roots:
        kinds = {_path(name): str(kind) for name, kind in self._manifest["roots"].items()}
        excluded = set(self._manifest.get("excluded", ()))
        return Roots(kinds, {_path(name) for name in self._manifest["followed"]}, excluded=excluded)

    def records(self) -> dict[bytes, FileRecord]:
        return self._records

    def contents(self, documents: Collection[int]) -> dict[int, Contents]:
        found: dict[int, Contents] = {}
        wanted: dict[int, list[int]] = {}
        for id_ in documents:
            wanted.setdefault(self._places[id_][0], []).append(id_)
        for part, ids in wanted.items():
            lines = self._archive.read(f"documents-{part:06}.jsonl").splitlines()
            vectors = self._vectors(part)
            for id_ in ids:
                _, line, first = self._places[id_]
                if texts := json.loads(lines[line])["texts"]:
                    found[id_] = _passages(texts), vectors[first : first + len(texts)]
        return found

    @property
    def uploads(self) -> Self:
        return self

    def stored(self) -> dict[bytes, Upload]:
        return {path: upload for path, (upload, _) in self._uploads.items()}

    def content(self, path: bytes) -> bytes | None:
        return self._archive.read(self._uploads[path][1]) if path in self._uploads else None

    def extra(self) -> Iterator[dict[str, Any]]:
        """Yield the lines that were saved beside the library."""
        for line in self._archive.read(EXTRA).splitlines():
            yield json.loads(line)

    def _checked(self) -> dict[str, Any]:
        """Return the manifest, after each member was compared with its checksum."""
        if any(one.compress_type != zipfile.ZIP_STORED for one in self._archive.infolist()):  # may unpack endlessly
            raise ValueError("compressed")
        if self._archive.getinfo(MANIFEST).file_size > LARGEST_MANIFEST:
            raise ValueError("too large")
        manifest = json.loads(self._archive.read(MANIFEST))
        if manifest["format"] > FORMAT:
            raise RequestError(f"{self._shown} was made by a newer version of this program: update the program.")
        self._archive.getinfo(EXTRA)
        if self._archive.testzip():
            raise ValueError("checksum")
        return dict(manifest)

    def _listed(self) -> tuple[dict[bytes, FileRecord], dict[int, Place]]:
        records: dict[bytes, FileRecord] = {}
        places: dict[int, Place] = {}
        parts = sum(name.startswith("documents-") for name in self._archive.namelist())
        for part in range(parts):
            first = 0
            for number, line in enumerate(self._archive.read(f"documents-{part:06}.jsonl").splitlines()):
                row = json.loads(line)
                passages = _passages(row.pop("texts"))
                record = RECORD.validate_python(row | {"path": _path(row["path"]), "id": len(places) + 1})
                if len(passages) != record.passages:
                    raise ValueError("passages")
                records[record.path] = record
                places[record.id] = part, number, first
                first += len(passages)
            vectors = self._vectors(part)
            if vectors.dtype != np.float32 or len(vectors) != first or not np.isfinite(vectors).all():
                raise ValueError("vectors")
            if first and vectors.shape != (first, self.made().dimension):
                raise ValueError("dimension")
        if len(records) != self._manifest["documents"]:
            raise ValueError("documents")
        return records, places

    def _saved_uploads(self) -> dict[bytes, tuple[Upload, str]]:
        """Return each upload by path, with the name of the member that has its bytes."""
        saved = {}
        for row in self._manifest.get("uploads", []):
            path, member = _path(row["path"]), row["member"]
            self._archive.getinfo(member)
            if not is_below(path, UPLOADS):
                raise ValueError("path")
            told = row | self._manifest.get("members", {}).get(member, {})  # as in format 2
            saved[path] = Upload(told["sha256"], int(told["size"]), int(told["mtime_ns"])), member
        return saved

    def _vectors(self, part: int) -> Any:
        return np.load(io.BytesIO(self._archive.read(f"vectors-{part:06}.npy")), allow_pickle=False)


def _passages(rows: Sequence[Mapping[str, Any]]) -> list[Document]:
    return [Document(one["text"], metadata=dict(one["metadata"])) for one in rows]


def _name(path: bytes) -> str:
    return base64.b64encode(path).decode("ascii")


def _path(name: str) -> bytes:
    return base64.b64decode(name, validate=True)

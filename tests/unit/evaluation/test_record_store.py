import json
from pathlib import Path

import pytest

from core.errors import RequestError
from evaluation.record_store import NAME, START, RecordStore
from tests.unit.evaluation.sample_records import ScriptedSystem, example, record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / NAME


OURS = ScriptedSystem()


def filled(path: Path, *ids: str) -> None:
    with RecordStore(path) as store:
        for id_ in ids:
            store.append(OURS.fingerprint, record(id_))


def test_a_record_is_there_the_next_time_and_hides_nothing_from_who_reads_the_file(path: Path) -> None:
    said = record("1", answer="Zażółć \u2028 “gęślą”\n\x1b[2J\x7f\x9b\u202e\u200b\U000e0041é")
    with RecordStore(path) as store:
        assert store.done(OURS, example("1")) is None
        store.append(OURS.fingerprint, said)
        assert store.done(OURS, example("1")) == said
    with RecordStore(path) as store:
        assert store.done(OURS, example("1")) == said
        assert store.damaged == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f'{START.decode()}print", "record": {{"system": "ours"')
    assert "\\n\\u001b[2J\\u007f\\u009b\\u202e\\u200b\\udb40\\udc41é" in text


def test_a_record_stands_for_its_system_code_and_question_alone(path: Path) -> None:
    filled(path, "1")
    with RecordStore(path) as store:
        assert store.done(OURS, example("1"))
        assert store.done(ScriptedSystem(name="other"), example("1")) is None
        assert store.done(ScriptedSystem(fingerprint="changed"), example("1")) is None
        assert store.done(OURS, example("2")) is None
        assert store.done(OURS, example("1", "Another question?")) is None


def test_a_failure_is_not_done_until_a_later_record_mends_it(path: Path) -> None:
    with RecordStore(path) as store:
        store.append(OURS.fingerprint, record("1", error="It broke."))
        assert store.done(OURS, example("1")) is None
        failure = store.latest(OURS, example("1"))
        assert failure is not None
        assert failure["error"] == "It broke."
        store.append(OURS.fingerprint, record("1"))
    with RecordStore(path) as store:
        assert store.done(OURS, example("1")) == record("1")


def test_damaged_lines_in_the_middle_and_records_of_other_types_are_passed_over(path: Path) -> None:
    """Whoever summarises the records takes them as they are typed."""
    filled(path, "1", "2", "3")
    first, second, third = path.read_text().splitlines()
    damaged = ["\0\0{", "[1]", '{"fingerprint": "print", "record": {}}']
    wrong = {"seen": ["x"], "read": [{}], "stamp": {"version": 1}, "queries": None, "cost": {}}
    for field, value in wrong.items():
        entry = json.loads(second)
        entry["record"][field] = value
        damaged.append(json.dumps(entry))
    path.write_text("\n".join([first, *damaged, third, ""]))
    with RecordStore(path) as store:
        assert store.damaged == len(damaged)
        assert [store.latest(OURS, example(id_)) is not None for id_ in "123"] == [True, False, True]


def test_one_process_writes_at_a_time(path: Path) -> None:
    with RecordStore(path), pytest.raises(RequestError, match=r"Another evaluation is writing .*--out"):
        RecordStore(path)
    RecordStore(path).close()


def test_what_cannot_be_written_is_named_and_leaves_no_lock(tmp_path: Path, path: Path) -> None:
    (tmp_path / "file").write_text("")
    path.mkdir(parents=True)
    for place in (tmp_path / "file" / NAME, path):
        with pytest.raises(RequestError, match=r"records\.jsonl cannot be written .*--out"):
            RecordStore(place)
    path.rmdir()
    RecordStore(path).close()

"""What is taken over from a damaged database ends, wherever its tables lead."""

import sqlite3

import pytest

from retrieval.index import recovery as module
from retrieval.index.recovery import _rows

SQL = "SELECT id, text FROM things"


@pytest.fixture
def things() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, text TEXT)")
    connection.executemany("INSERT INTO things VALUES (?, ?)", [(number, f"t{number}") for number in range(1, 2_501)])
    return connection


class Broken:
    """A database in which some ids cannot be read, and which may lead back to the beginning."""

    def __init__(self, connection: sqlite3.Connection, bad: range, *, leads_back: bool = False) -> None:
        self.connection = connection
        self.bad = bad
        self.leads_back = leads_back
        self.asked = 0

    def execute(self, sql: str, values: tuple[int, ...]) -> sqlite3.Cursor:
        self.asked += 1
        if self.leads_back and values[0] > 0:
            return self.connection.execute(f"{SQL} WHERE id < ? ORDER BY id LIMIT 9", (values[0] + 1,))
        first, last = (values[0] + 1, values[0] + values[1]) if " > " in sql else (values[0], values[0])
        if any(first <= one <= last for one in self.bad):
            raise sqlite3.DatabaseError("database disk image is malformed")
        return self.connection.execute(sql, values)


def taken(broken: Broken) -> list[int]:
    return [row[0] for rows in _rows(broken, SQL, "id") for row in rows]  # type: ignore[arg-type]


def test_all_but_the_damaged_rows_are_taken(things: sqlite3.Connection) -> None:
    assert taken(Broken(things, range(0))) == list(range(1, 2_501))
    found = taken(Broken(things, range(1_500, 1_503)))
    assert found == [*range(1, 1_500), *range(1_503, 2_501)]


def test_a_table_that_cannot_be_read_or_leads_back_is_given_up(
    things: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_UNREADABLE", 2_000)
    assert taken(Broken(things, range(100_000))) == []
    broken = Broken(things, range(0), leads_back=True)
    assert taken(broken) == list(range(1, 1_001))
    assert broken.asked <= 3

"""Bring an index of the format before this one up to date, in place."""

import sqlite3
from typing import TYPE_CHECKING

from core.errors import RequestError, damaged
from core.text import shown
from retrieval.index.document_rows import index_pairs, read_again
from retrieval.index.manifest import forget_words
from retrieval.index.schema import FORMAT, UPGRADE, expected_objects, get_meta, has_meta_table, objects_of, set_meta

if TYPE_CHECKING:
    from retrieval.index.database import Database

_BEFORE = FORMAT - 1
_WAIT = 60.0  # seconds for another writer to finish: until then the index cannot be read


def migrate_if_older(database: "Database") -> None:
    """Bring a database of the format before this one up to date, in one transaction.

    Raises ``RequestError`` for one that cannot be written, ``IndexBusy``, and ``IndexDamaged``.
    """
    if _format(database) != str(_BEFORE):
        return
    if not database.writable:
        raise RequestError(
            f"The index in {shown(database.folder)} was made by an older version, and the folder is read-only: "
            "make it writable."
        )
    with database.only_writer(_WAIT):
        if _format(database) == str(_BEFORE):  # else another process has done it while this one waited
            forget_words(database.folder)  # their checksum: a kill from here on leaves none, which is no damage
            with database.writing() as connection:
                migrate(connection)


def migrate(connection: sqlite3.Connection) -> None:
    """Add what the index lacks, within the caller's transaction. The files are read again at the next sync.

    Until then their passages have no titles and headings, but can be found. Vectors stay, and so do ids. Raises
    ``IndexDamaged`` for an index that is not as it was made.
    """
    if objects_of(connection) != expected_objects(_BEFORE):
        raise damaged()
    for statement in UPGRADE:
        connection.execute(statement)
    index_pairs(connection)
    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
    read_again(connection)
    set_meta(connection, format=FORMAT)


def _format(database: "Database") -> str:
    with database.reading() as connection:
        return str(get_meta(connection).get("format")) if has_meta_table(objects_of(connection)) else ""

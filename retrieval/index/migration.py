"""Bring an index of the format before this one up to date, in place."""

import sqlite3

from core.errors import damaged
from retrieval.index.document_rows import index_pairs, read_again
from retrieval.index.schema import FORMAT, UPGRADE, expected_objects, objects_of, set_meta

BEFORE = FORMAT - 1


def migrate(connection: sqlite3.Connection) -> None:
    """Add what the index lacks, within the caller's transaction. The files are read again at the next sync.

    Until then their passages have no titles and headings, but can be found. Vectors stay, and so do ids. Raises
    ``IndexDamaged`` for an index that is not as it was made.
    """
    if objects_of(connection) != expected_objects(BEFORE):
        raise damaged()
    for statement in UPGRADE:
        connection.execute(statement)
    index_pairs(connection)
    connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
    read_again(connection)
    set_meta(connection, format=FORMAT)

"""The BM25 index of pg_textsearch over passages, on a server that has it: of a question's words it lists the best.

It counts a passage's words once each, and does not weigh headings: `candidates` ranks what it lists.
"""

from collections.abc import Sequence

from psycopg import sql

from retrieval.postgres.database import Connection

NAME = "passages_by_bm25"
_WORDS = "(regexp_replace(words::text, ':[^ ]*', '', 'g'))"  # of a tsvector's text, each in quotes
MAKE = f"CREATE INDEX {NAME} ON passages USING bm25 ({_WORDS}) WITH (text_config = 'pg_catalog.simple')"
_SCHEMA = """
SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_textsearch'
"""
_BEST = (
    f"SELECT id FROM passages ORDER BY {_WORDS} OPERATOR({{schema}}.<@>) "  # noqa: S608 - of constants
    f"{{schema}}.to_bm25query({{words}}, '{NAME}') LIMIT {{count}}"
)


def installed(connection: Connection) -> bool:
    """Return True if the database has pg_textsearch."""
    return connection.execute(_SCHEMA).fetchone() is not None


def listed(connection: Connection, words: Sequence[str], count: int) -> list[int] | None:
    """Return the ids of the best passages by their words, the best first; None where there is no such index."""
    row = connection.execute(f"{_SCHEMA} AND to_regclass('{NAME}') IS NOT NULL".encode()).fetchone()
    if row is None:
        return None
    query = sql.SQL(_BEST).format(
        schema=sql.Identifier(row[0]),
        words=sql.Literal(" ".join(f"'{word}'" for word in words)),  # values that are bound are not pushed to it
        count=sql.Literal(count),
    )
    return [id_ for (id_,) in connection.execute(query)]

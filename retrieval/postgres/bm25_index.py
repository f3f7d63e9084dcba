"""The BM25 index of pg_textsearch over passages, on a server that has it: the best by all words of a question.

It does not weigh headings and titles: `candidates` ranks what it lists.
"""

from collections.abc import Sequence

from psycopg import sql

from retrieval.postgres.database import Connection

NAME = "passages_by_bm25"
# The words of a passage as often as they are in it, for the index reads texts.
MAKE = f"""
CREATE OR REPLACE FUNCTION repeated(words tsvector) RETURNS text IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
    SELECT coalesce(string_agg(repeat(lexeme || ' ', cardinality(positions)), ''), '') FROM unnest(words)
$$;
CREATE INDEX {NAME} ON passages USING bm25 (repeated(words)) WITH (text_config = 'pg_catalog.simple')
"""  # noqa: S608 - of constants
_SCHEMA = """
SELECT nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_textsearch'
"""
_BEST = (
    "SELECT id FROM passages ORDER BY repeated(words) OPERATOR({schema}.<@>) "  # noqa: S608 - of constants
    f"{{schema}}.to_bm25query({{words}}, '{NAME}') LIMIT {{count}}"
)


def installed(connection: Connection) -> bool:
    """Return True if the database has pg_textsearch."""
    return connection.execute(_SCHEMA).fetchone() is not None


def listed(connection: Connection, words: Sequence[str], count: int) -> list[int] | None:
    """Return the ids of the best passages by pg_textsearch's BM25, best first; None if the library lacks its index."""
    row = connection.execute(f"{_SCHEMA} AND to_regclass('{NAME}') IS NOT NULL".encode()).fetchone()
    if row is None:
        return None
    query = sql.SQL(_BEST).format(
        schema=sql.Identifier(row[0]),
        words=sql.Literal(" ".join(words)),  # the index is not asked for values that are bound
        count=sql.Literal(count),
    )
    return [id_ for (id_,) in connection.execute(query)]

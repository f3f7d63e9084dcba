"""Check a library's rows against each other, and repair them."""

from collections.abc import Callable
from pathlib import Path

from retrieval.postgres.database import Connection, Database
from retrieval.postgres.rows import FREQUENCIES, lacks_index, make_index, read_again
from retrieval.sync_report import Progress, SyncReport, TimeEstimate, VerifyReport
from retrieval.unit_vectors import text_hash

_MANY = 500  # passages at a time
_MISCOUNTED = """
SELECT id FROM documents WHERE passages <> (SELECT count(*) FROM passages WHERE document = documents.id)
"""
_COUNTED = """
SELECT lexeme AS word, count(*) AS passages, 0::numeric AS tokens FROM passages, unnest(words) GROUP BY lexeme
UNION ALL SELECT '', count(*), sum(tokens) FROM passages HAVING count(*) > 0
"""
_MISCOUNTED_WORDS = f"""
SELECT count(*) FROM (
    SELECT word, sum(passages) AS passages, sum(tokens) AS tokens
    FROM {FREQUENCIES} GROUP BY word HAVING sum(passages) <> 0 OR sum(tokens) <> 0
) AS kept FULL JOIN ({_COUNTED}) AS counted USING (word)
WHERE (kept.passages, kept.tokens) IS DISTINCT FROM (counted.passages, counted.tokens)
"""  # noqa: S608 - constants


def verify(
    database: Database, sync: Callable[[Progress | None], SyncReport], progress: Progress | None
) -> VerifyReport:
    """Check counts, texts, words and the indexes; documents that are wrong are read again with ``sync``."""
    repairs: list[str] = []
    with database.reading() as connection:
        wrong = _wrong_documents(connection, progress)
        miscounted = bool(_number(connection, _MISCOUNTED_WORDS))
        passages = _number(connection, "SELECT count(*) FROM passages")
        documents = _number(connection, "SELECT count(*) FROM documents")
        unindexed = lacks_index(connection)
    found = {
        f"{len(wrong)} documents did not match their passages: they were read again.": bool(wrong),
        "The words' frequencies did not match the passages: they were counted anew.": miscounted,
        "The vectors had no index: it was made.": unindexed,
    }
    faults = [sentence for sentence, is_so in found.items() if is_so]
    if faults and not database.writable:
        problems = [f"{fault.partition(':')[0]}, and this role may only read." for fault in faults]
        return VerifyReport(passages, documents, [], problems)
    if wrong:
        with database.only_writer(), database.writing() as connection:
            read_again(connection, wrong)
        report = sync(progress)
        repairs += report.notes
        passages = report.passages
    if miscounted or unindexed:
        with database.only_writer(), database.writing() as connection:
            connection.execute("TRUNCATE frequencies, frequency_changes")
            connection.execute(f"INSERT INTO frequencies {_COUNTED}".encode())
            if lacks_index(connection):
                make_index(connection)
    return VerifyReport(passages, documents, repairs + faults, [])


def _wrong_documents(connection: Connection, progress: Progress | None) -> set[int]:
    """Return the ids of documents with a wrong number of passages, or a passage whose text is not the embedded one."""
    wrong = {id_ for (id_,) in connection.execute(_MISCOUNTED)}
    total = _number(connection, "SELECT count(*) FROM passages")
    estimate = TimeEstimate([(Path(), 0)] * total, progress)
    with connection.cursor(name="all_passages") as cursor:
        cursor.execute("SELECT document, text, hash FROM passages")
        while passages := cursor.fetchmany(_MANY):
            wrong |= {document for document, text, hash_ in passages if text_hash(text) != hash_}
            estimate.passages += len(passages)
            estimate.update(estimate.passages)
    return wrong


def _number(connection: Connection, query: str) -> int:
    row = connection.execute(query.encode()).fetchone()
    return int(row[0]) if row else 0

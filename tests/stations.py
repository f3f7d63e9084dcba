"""A table of stations, as a retriever of one library reads it."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from langchain_core.documents import Document

from retrieval.documents.load import documents_of
from retrieval.documents.loaded import Loaded
from retrieval.documents.row_files import read_csv
from retrieval.joined_tables import joined, tables_asked
from retrieval.splitter import split
from retrieval.tables import Table

ROWS = [
    ("Alder", "Red", 7),
    ("Birch", "Blue", 12),
    ("Cedar", "Red", 12),
    *((f"Oak {n}", "Green", 1) for n in range(30)),
]
MOST = "Which station has the most platforms?"
ORDER = "SELECT station FROM data ORDER BY platforms DESC LIMIT 1"
STATIONS = "Station,Line,Platforms\n" + "".join(f"{name},{line},{size}\n" for name, line, size in ROWS)


class Library:
    """A retriever and a store of one table, or of CSV files by their paths."""

    def __init__(self, loaded: Loaded | None = None, files: Mapping[str, str] | None = None) -> None:
        read = {name: Loaded(read_csv(text)) for name, text in (files or {"stations.csv": STATIONS}).items()}
        if loaded:
            read = {"stations.csv": loaded}
        self.passages = [
            Document(one.page_content, id=f"{name if files else ''}{one.page_content}", metadata=one.metadata)
            for name, content in read.items()
            for one in split(documents_of(Path(name), content))
        ]

    def passages_of(self, source: str) -> list[Document]:
        return [one for one in self.passages if one.metadata.get("source") == source]

    def read_once(self, source: str, _: object, read: Callable[[list[Document]], Table | None]) -> Table | None:
        return read(self.passages_of(source))

    def sources_with(self, *_: object) -> dict[str, int]:
        return Counter(str(one.metadata.get("source")) for one in self.passages)

    async def table_of(self, source: str, number: int) -> Table | None:
        return Table.of(self.passages_of(source), number)

    async def joined_table(self, table: Table, question: str, *_: object) -> Table:
        return joined(tables_asked(cast("Any", self), table, question))

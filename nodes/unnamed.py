"""Find the names in a question that none of the quoted documents has: a figure of Bergli's is not one of Waldau's."""

from collections.abc import Iterable, Sequence
from typing import cast

from core.errors import RequestError
from core.passages import stated_by
from core.types import Passage
from grounding.names import has_name, names_lacked_by
from nodes.concurrency import off_loop
from retrieval.named_documents import stated
from run.context import Services
from run.prefetch import PrefetchingRetriever

SEARCHED = 8  # passages for a name


async def unnamed(question: str, sources: Iterable[str], passages: Sequence[Passage], services: Services) -> list[str]:
    """Return the names in a question that none of the documents ``sources`` has, as far as search finds.

    ``passages`` are read before there is a search.
    """
    own = set(sources)
    text = "\n".join(f"{one['source']}\n{stated_by(one)}" for one in passages if one["source"] in own)
    asked = await off_loop(len(text), names_lacked_by, text, question) if own else []
    found = [[await in_document(words, source, services) for source in own] for words in asked]
    return [" ".join(words) for words, places in zip(asked, found, strict=True) if not any(places)]


async def in_document(words: Sequence[str], source: str, services: Services) -> bool:
    """Whether a search in a document finds a word of the name in some form; True if it cannot be searched."""
    try:
        found = await cast("PrefetchingRetriever", services.retriever).within(source, " ".join(words), SEARCHED)
    except RequestError:  # an answer that was paid for is not lost
        return True
    return found is None or has_name(words, "\n".join(map(stated, found)))

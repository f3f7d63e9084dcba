"""Leave out what a PDF's pages have around their text: page numbers, running heads, and the entries of its contents."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

LEAST_PAGES = 5  # whose numbers go up by one from page to page, and at least a third of all pages
LEAST_ENTRIES = 5  # of the contents, at least a third of whose titles are lines of the text
LEAST_LEADERS = 4  # dots between a title and its page
EDGES = (0, -1)  # the first and the last line of a page
_NUMBER = re.compile(r"\A(\d{1,4})(?=\s|\Z)|(?<!\S)(\d{1,4})(?: ?(?:/|of|von|de|sur) ?\d{1,4})?\Z")


def body_text(pages: Sequence[str]) -> list[str]:
    """Return the pages without their numbers, the running heads beside these, and the contents.

    If nothing would be left, the pages are returned as they are.
    """
    lines = [[line.strip() for line in page.split("\n")] for page in pages]
    titles = {_words(title) for page in lines for line in page if (title := _title_of(line))}
    text = {_words(line) for page in lines for line in page if not _title_of(line)}
    if len(titles) >= LEAST_ENTRIES and len(titles & text) >= len(titles) / 3:
        lines = [[line for line in page if not _title_of(line)] for page in lines]
    else:
        titles = set()
    numbers = [list(_numbers(page, index)) for index, page in enumerate(lines)]
    steps = Counter(step for page in numbers for step, *_ in page)
    least = max(LEAST_PAGES, len(pages) / 3)
    numbered = [[one for one in page if steps[one[0]] >= least] for page in numbers]
    beside = Counter(_words(rest) for page in numbered for *_, rest in page)
    for page, own in zip(lines, numbered, strict=True):
        for _, edge, rest in own:
            page[edge] = "" if beside[_words(rest)] > 1 or _words(rest) in titles else rest
    kept = ["\n".join(page).strip() for page in lines]
    return kept if any(kept) else list(pages)


def _title_of(line: str) -> str:
    """Return the title of an entry of the contents, which leaders and page numbers follow; "" for another line."""
    head = line.rstrip("0123456789, ")
    title = head.rstrip(". ")
    return title if head != line and head.count(".", len(title)) >= LEAST_LEADERS else ""


def _numbers(page: Sequence[str], index: int) -> Iterator[tuple[tuple[int, int], int, str]]:
    """Yield each number at an end of the page's first or last line: its step, the edge, and the line without it.

    The step is the edge and the number minus the page's index: that of page numbers is the same on all pages.
    """
    for edge in EDGES[: len(page)]:
        for found in _NUMBER.finditer(page[edge]):
            rest = page[edge][: found.start()] + page[edge][found.end() :]
            yield (edge, int(found[1] or found[2]) - index), edge, rest.strip()


def _words(line: str) -> str:
    return " ".join(re.findall(r"\w+", line.casefold()))

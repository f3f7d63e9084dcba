"""Compare our reader of web pages with libraries that tell an article from its surroundings.

    python -m benchmarks.documents.pages FOLDER [--each]

FOLDER holds ``ground-truth.json`` and ``html/*.html.gz`` of Scrapinghub's article extraction benchmark. As there, a
page's precision and recall are those of its shingles of four words; the figures are the means of the pages. Of the
libraries those are compared that are installed: none of them is a requirement.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from retrieval.documents.html import read_html

SHINGLE = 4
WORD = re.compile(r"\w+")


def trafilatura(favour: str, page: str) -> str:
    """What trafilatura takes for the text, with its tables."""
    library = importlib.import_module("trafilatura")
    options = {"include_comments": False, "include_tables": True} | ({favour: True} if favour else {})
    return library.extract(page, **options) or ""


def justext(page: str) -> str:
    """What jusText takes for the text, with English stop words."""
    library = importlib.import_module("justext")
    paragraphs = library.justext(page.encode(), library.get_stoplist("English"), encoding="utf-8")
    return "\n".join(paragraph.text for paragraph in paragraphs if not paragraph.is_boilerplate)


def resiliparse(page: str) -> str:
    """What Resiliparse takes for the text."""
    library = importlib.import_module("resiliparse.extract.html2text")
    return str(library.extract_plain_text(page, main_content=True))


READERS: dict[str, Callable[[str], str]] = {
    "ours": read_html,
    "trafilatura": lambda page: trafilatura("", page),
    "trafilatura, precision": lambda page: trafilatura("favor_precision", page),
    "trafilatura, recall": lambda page: trafilatura("favor_recall", page),
    "justext": justext,
    "resiliparse": resiliparse,
}


def main() -> None:
    """Read all pages with each reader and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", action="store_true", help="print our figures for each page, the least precise first")
    options = parser.parse_args()
    truth = json.loads((options.folder / "ground-truth.json").read_text(encoding="utf-8"))
    pages = {name: gzip.decompress((options.folder / "html" / f"{name}.html.gz").read_bytes()) for name in truth}
    print(f"{len(pages)} pages\n{'':24}precision  recall      F1  recall < 0.5  ms a page")
    for name, read in READERS.items():
        try:
            read("<p>A page.</p>")
        except ImportError:
            print(f"{name:24}is not installed")
            continue
        began = time.process_time()
        texts = {key: read(page.decode("utf-8", "replace")) for key, page in pages.items()}
        spent = 1000 * (time.process_time() - began) / len(pages)
        scores = {key: score(truth[key]["articleBody"], text) for key, text in texts.items()}
        precision, recall = (mean(of[side] for of in scores.values()) for side in (0, 1))
        lost = sum(recall < 0.5 for _, recall in scores.values())
        f1 = 2 * precision * recall / (precision + recall)
        print(f"{name:24}{precision:9.3f}{recall:8.3f}{f1:8.3f}{lost:14}{spent:11.1f}")
        if options.each and name == "ours":
            for key, (sure, found) in sorted(scores.items(), key=lambda item: item[1][0]):
                print(f"  {key[:12]} precision {sure:.2f} recall {found:.2f} {truth[key].get('url', '')}")


def score(wanted: str, text: str) -> tuple[float, float]:
    """Precision and recall of the shingles, each counted as often as it occurs."""
    want, have = shingles(wanted), shingles(text)
    both = (want & have).total()
    return both / have.total() if have else float(not want), both / want.total() if want else 1.0


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Every four words in a row; of a shorter text its words together."""
    words = WORD.findall(text)
    if len(words) < SHINGLE:
        return Counter([tuple(words)] if words else [])
    return Counter(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))


if __name__ == "__main__":
    main()

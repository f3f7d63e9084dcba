"""Show a checked text: with its marks on the terminal, or as a page."""

from collections.abc import Iterator

from app.checking.checked_text import CheckedClaim, CheckedText
from app.checking.verification import CONTRADICTED, NO_CLAIM
from app.results.result import JudgedClaim
from app.terminal.screen import Screen
from app.terminal.show import show_citations
from core.markup import Html, joined, table, tag
from core.passages import place_of
from core.step_wording import spent
from core.text import shortened
from evaluation.reporting.html_document import html_document
from nodes.finish import wording_of

COLOURS = {
    "fully supported": "green",
    "partially supported": "yellow",
    "no support": "red",
    CONTRADICTED: "bold red",
    "unknown": "magenta",
    NO_CLAIM: "dim",
}


def show_check(checked: CheckedText, screen: Screen) -> None:
    """Print the text with a mark after each claim, then the quotes, and how many claims have which label."""
    if screen.out.is_terminal:
        screen.styled(_coloured(checked))
    else:
        screen.text(marked_text(checked))
    show_citations(checked.citations, screen.result)
    screen.line(("{}", f"{counts_of(checked)} · {spent(checked.usage, checked.usage['seconds'])}", "dim"))


def text_pieces(checked: CheckedText) -> Iterator[tuple[str, CheckedClaim | None]]:
    """Yield the pieces of the text in order, each with its claim, or None between claims."""
    position = 0
    for claim in checked.claims:
        yield checked.text[position : claim.start], None
        yield checked.text[claim.start : claim.end], claim
        position = claim.end
    yield checked.text[position:], None


def _coloured(checked: CheckedText) -> Iterator[tuple[str, str]]:
    for part, claim in text_pieces(checked):
        yield part, COLOURS.get(claim.label, "") if claim else ""
        yield mark_of(claim, checked.text) if claim else "", "bold"


def marked_text(checked: CheckedText) -> str:
    """Return the text with a mark after each claim."""
    return "".join(part + (mark_of(claim, checked.text) if claim else "") for part, claim in text_pieces(checked))


def mark_of(claim: CheckedClaim, text: str) -> str:
    """Return the numbers of the claim's citations and its mark, in the language of the text."""
    numbers = "".join(f" [{number}]" for number in claim.citations)
    return numbers + wording_of(text).marks.get(claim.label, "")


def counts_of(checked: CheckedText) -> str:
    """Return how many claims have which label, in a line."""
    claims = len(checked.claims) - checked.count(NO_CLAIM)
    labels = [f"{count} {label}" for label in COLOURS if (count := checked.count(label))]
    return f"{claims} claim{'' if claims == 1 else 's'}: {', '.join(labels)}"


def as_page(checked: CheckedText, name: str) -> str:
    """Return one HTML page that needs no other file: the text with its marks, each claim's reason, and the quotes."""
    title = f"Claims of {shortened(name, 100)}"
    text = [_marked(part, claim) if claim else part for part, claim in text_pieces(checked)]
    rows = [
        tag("tr", tag("td", claim.text), tag("td", verdict_of(claim)), tag("td", claim.reason or ""))
        for claim in checked.claims
        if claim.label != NO_CLAIM
    ]
    evidence = [
        joined(tag("p", f"[{one['id']}] ", place_of(one), id=f"c{one['id']}"), tag("blockquote", one["quote"]))
        for one in checked.citations
    ]
    return html_document(
        title,
        tag("h1", title),
        tag("p", tag("small", f"{counts_of(checked)} · {spent(checked.usage, checked.usage['seconds'])}")),
        tag("div", *text, class_="said"),
        *((tag("h2", "Evidence"), *evidence) if evidence else ()),
        *((tag("h2", "Claims"), table(("Claim", "Verdict", "Reason"), tag("tbody", *rows))) if rows else ()),
    )


def _marked(part: str, claim: CheckedClaim) -> Html:
    if claim.label == NO_CLAIM:
        return joined(part)
    links = [tag("sup", tag("a", f"[{number}]", href=f"#c{number}")) for number in claim.citations]
    label = "" if claim.label == "fully supported" else f" [{claim.label}]"
    return joined(
        tag("mark", part, class_=claim.label.replace(" ", "-"), title=verdict_of(claim)), *links, tag("small", label)
    )


def verdict_of(claim: JudgedClaim) -> str:
    """Return the label of a claim with how probable it is."""
    probable = (claim.probabilities or {}).get(claim.label)
    return claim.label + ("" if probable is None else f" {probable:.2f}")

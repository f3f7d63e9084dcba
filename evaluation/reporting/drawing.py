"""Draw figures as SVG that follow the reader's colour scheme: matplotlib draws, CSS variables colour."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from core.markup import Html, text
from evaluation.reporting.html_document import NAMES, variables

# Each role is drawn in a unique colour, which is then replaced by the role's variable.
INK, MUTED, RULE, PAPER = "#010101", "#010102", "#010103", "#010104"
SERIES = tuple(f"#0102{number:02x}" for number in range(8))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p")
ROLES = dict(zip((INK, MUTED, RULE, PAPER, *SERIES), NAMES, strict=True))
SETTINGS: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.8,
    "figure.facecolor": "none",
    "lines.linewidth": 1.8,
}


def colour(number: int) -> str:
    """Return the colour of a series; after the eighth they repeat."""
    return SERIES[number % len(SERIES)]


def marker(number: int) -> str:
    return MARKERS[number % len(MARKERS)]


@contextmanager
def figure(width: float, height: float, columns: int = 1, share_y: bool = False) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure of the given size in points, with axes side by side. Our settings hold within the ``with``."""
    with rc_context(SETTINGS):
        made = Figure(figsize=(width / 72, height / 72), layout="constrained")
        FigureCanvasSVG(made)
        yield made, list(made.subplots(1, columns, squeeze=False, sharey=share_y)[0])


def as_svg(made: Figure, name: str, title: str, standalone: bool = False) -> Html:
    """Return the figure as an SVG element; call this within the ``with`` block of `figure`.

    ``name`` keeps its ids apart from those of other figures. With ``standalone`` it includes its own background and
    colours for both schemes, for use as an image file.
    """
    out = io.StringIO()
    with rc_context({"svg.hashsalt": name}):
        made.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    svg = out.getvalue()
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(r'\b(id=")|(url\(#)|(href="#)', lambda match: f"{match.group()}{name}-", body)
    body = body.replace("'DejaVu Sans'", "system-ui, sans-serif")
    for drawn, role in ROLES.items():
        body = body.replace(drawn, f"var(--{role})")
    width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', body).groups()  # type: ignore[union-attr]
    inner = body[body.index(">") + 1 :]
    own = ""
    if standalone:
        own = f'<style>{variables("svg")}</style><rect width="{width}" height="{height}" rx="6" fill="var(--paper)"/>'
    return Html(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" stroke-linejoin="round" '
        f'role="img" aria-label="{text(title)}"><title>{text(title)}</title>{own}{inner.strip()}'
    )

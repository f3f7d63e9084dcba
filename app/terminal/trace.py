"""Show a run while it goes on: a line for each node as it ends, and on a terminal the draft as it is written."""

from typing import Self

from rich.status import Status
from rich.text import Text

from app.results.events import DraftToken, NodeFinished, NodeStarted
from app.terminal.screen import Screen
from core.step_wording import describe, drafts_of, segments_of, summarise_step, verdicts_of
from core.text import one_line, shortened
from retrieval.filters import Filter

DRAFT_LINES = 6  # of the draft that is being written


class Trace:
    """Prints one line for each node as it ends; on a terminal also the draft as it is written, dim, and a spinner.

    Below the line stand, each as a paragraph, the drafts of a round if it has several, or the accepted segments of a
    long answer. If there are neither and ``explain`` is true, each verdict stands there with its reason.
    """

    def __init__(self, screen: Screen, within: Filter | None = None, *, explain: bool = False) -> None:
        self._screen = screen
        self._within = within
        self._explain = explain
        self._status: Status | None = screen.err.status("thinking …") if screen.live else None
        self._draft = ""

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def show(self, event: NodeStarted | DraftToken | NodeFinished) -> None:
        """Show an event. A draft stays visible, unchecked, until the next draft or the `finish` node begins."""
        match event:
            case NodeStarted("generate" | "direct_generate" | "finish"):
                self._draft = ""
                self._show_draft()
            case DraftToken(text):
                self._draft += text
                self._show_draft()
            case NodeFinished():
                self._step(event)

    def _show_draft(self) -> None:
        if self._status:
            room = self._screen.err.width * DRAFT_LINES
            draft = one_line(self._draft)
            draft = draft if len(draft) <= room else "…" + draft[1 - room :]
            self._status.update(Text.assemble("thinking …", (f"  {draft}" if draft else "", "dim")))

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def _step(self, ended: NodeFinished) -> None:
        """Print what the node decided."""
        within = shortened(self._within.as_options(), 60) if ended.node == "retrieve" and self._within else ""
        drafts, segments = drafts_of(ended.node, ended.decided), segments_of(ended.node, ended.decided)
        parts = drafts or segments or (verdicts_of(ended.node, ended.decided) if self._explain else [])
        told = summarise_step if parts else describe
        self._screen.line(
            ("{:20}", ended.node, "bold"),
            ("{:6.1f} s  ", ended.seconds, "dim"),
            f"{len(drafts)} drafts" if drafts else told(ended.node, ended.decided),
            (" {}", within, "dim"),
        )
        for part in parts:
            self._screen.paragraph(part)

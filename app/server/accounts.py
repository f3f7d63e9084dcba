"""What each person has asked and spent today: kept within their quota, and in the audit log if there is one."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from app.server.audit import Audit, Entry
from app.server.people import People, Quota
from app.server.runs import QuotaError, Run
from core.errors import RequestError

log = logging.getLogger("selfrag.server")
COUNTED = ("asked", "verified")  # as questions


@dataclass
class Spent:
    """Questions, and tokens read and written, of a day in UTC."""

    day: date
    questions: int = 0
    tokens: int = 0


@dataclass
class Accounts:
    """Counts what each person asks and spends; after a restart it continues from today's entries in the audit log."""

    people: Callable[[], People] = People
    audit: Audit | None = None
    _spent: dict[str, Spent] = field(default_factory=dict)

    @classmethod
    def of(cls, people: Callable[[], People], log: Path | None) -> "Accounts":
        """Open the log. Raises `RequestError`."""
        accounts = cls(people)
        accounts.audit = Audit(log, accounts._reread) if log else None
        return accounts

    def admit(self, owner: str) -> None:
        """Raise `QuotaError` where the person has no question or token left today."""
        quota, spent = self.people().quotas.get(owner, Quota()), self._today(owner)
        for what, most in (("questions", quota.questions), ("tokens", quota.tokens)):
            if most is not None and getattr(spent, what) >= most:
                now = datetime.now(UTC)
                tomorrow = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
                raise QuotaError(what, most, max(1, round((tomorrow - now).total_seconds())))

    def began(self, run: Run) -> None:
        """Record a run before anything is read for it. Raises `QuotaError`, or `RequestError` if it cannot be."""
        self.admit(run.owner)
        self.record("asked", run.owner, run=run.id, kind=run.kind, thread=run.thread, question=run.question)

    def ended(self, run: Run) -> None:
        """Count what a run has spent, and record what was read for it."""
        result = run.result or run.checked
        usage = result.usage if result else None
        tokens = usage["input_tokens"] + usage["output_tokens"] if usage else 0
        self._today(run.owner).tokens += tokens
        passages = run.result.passages if run.result else ()
        cited = {one["source"] for one in result.citations} if result else set()
        entry = {
            "run": run.id,
            "outcome": run.result.outcome if run.result else run.state,
            "documents": sorted(cited | {one.source for one in passages}),
            "cited": sorted(cited),
            "model_calls": usage["model_calls"] if usage else 0,
            "tokens": tokens,
        }
        try:
            self.record("answered", run.owner, **entry)
        except RequestError as error:  # the answer is given
            log.error("%s", error)

    def record(self, what: str, owner: str, **more: object) -> None:
        """Add an entry to the log, if there is one, and count what needs the models.

        Raises `RequestError` if the entry cannot be written.
        """
        if self.audit:
            self.audit.add(what, owner, **more)
        self._today(owner).questions += what in COUNTED

    def close(self) -> None:
        """Close the log."""
        if self.audit:
            self.audit.close()

    def _today(self, owner: str) -> Spent:
        today = datetime.now(UTC).date()
        if owner not in self._spent or self._spent[owner].day != today:
            self._spent[owner] = Spent(today)
        return self._spent[owner]

    def _reread(self, entry: Entry) -> None:
        if entry["at"][:10] == datetime.now(UTC).date().isoformat():
            spent = self._today(entry["who"])
            spent.questions += entry["what"] in COUNTED
            spent.tokens += entry.get("tokens", 0)

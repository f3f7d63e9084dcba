"""Count what each person asks and spends today, enforce the quotas, and write the audit log if there is one."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from app.checking.verification import VerifiedClaim
from app.server.audit import Audit, Entry
from app.server.people import People, Quota
from app.server.runs import QuotaError, Run
from core.errors import RequestError
from core.types import Usage, no_usage
from models.usage import Meter, metered

log = logging.getLogger("selfrag.server")
Spending = Mapping[tuple[str, str], int]  # by the owner and "questions" or "tokens" (read and written)


@dataclass
class Accounts:
    """Counts what each person asks and spends in a day in UTC.

    After a restart counting continues from today's audit log, or from the sums in a database that servers share.
    """

    people: Callable[[], People] = People
    file: InitVar[Path | None] = None
    _day: date = date.min
    _spent: Counter[tuple[str, str]] = field(default_factory=Counter)
    _untold: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __post_init__(self, file: Path | None) -> None:
        """Open the log. Raises `RequestError`."""
        self.audit = Audit(file, self._reread) if file else None

    def admit(self, owner: str) -> None:
        """Raise `QuotaError` where the person has no question or token left today."""
        quota, spent = self.people().quotas.get(owner, Quota()), self._today()
        for what, most in (("questions", quota.questions), ("tokens", quota.tokens)):
            if most is not None and spent[owner, what] >= most:
                now = datetime.now(UTC)
                tomorrow = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
                raise QuotaError(what, most, max(1, round((tomorrow - now).total_seconds())))

    def began(self, run: Run) -> None:
        """Record a run before anything is read for it. Raises `QuotaError`, or `RequestError` if the log fails."""
        self.admit(run.owner)
        self.record("asked", run.owner, run=run.id, kind=run.kind, thread=run.thread, question=run.question)

    def ended(self, run: Run, *, goes_on: bool = False) -> None:
        """Count what a run has spent, and record what was read for it.

        If the run ``goes_on`` after a restart, its cost is not counted now: its result will hold the whole cost.
        """
        result = run.result or run.checked
        usage = result.usage if result else no_usage() if goes_on else run.meter.spent
        passages = run.result.passages if run.result else ()
        cited = {one["source"] for one in result.citations} if result else set()
        entry = {
            "run": run.id,
            "outcome": run.result.outcome if run.result else run.state,
            "documents": sorted(cited | {one.source for one in passages}),
            "cited": sorted(cited),
        }
        self._spent_on("answered", run.owner, usage, entry)

    @contextmanager
    def verifying(self, claim: str, owner: str) -> Iterator[list[VerifiedClaim]]:
        """Count a claim as a question, and at the end its cost; the block appends its result to the yielded list.

        Raises `QuotaError`, or `RequestError` if the claim cannot be recorded.
        """
        self.admit(owner)
        self.record("asked", owner, kind="claim", claim=claim)
        meter, verified = Meter(), list[VerifiedClaim]()
        try:
            with metered(meter):
                yield verified
        finally:
            read = {cited["source"] for one in verified for cited in one.citations}
            self._spent_on("verified", owner, meter.spent, {"claim": claim, "documents": sorted(read)})

    def record(self, what: str, owner: str, **more: object) -> None:
        """Add an entry to the log, if there is one; "asked" counts as a question.

        Raises `RequestError` if the entry cannot be written.
        """
        if self.audit:
            self.audit.add(what, owner, **more)
        self._add(owner, "questions", what == "asked")

    def untold(self) -> tuple[date, Spending]:
        """Return today, and what was spent here that `settle` has not told the other servers yet."""
        self._today()
        return self._day, dict(self._untold)

    def settle(self, day: date, told: Spending, everywhere: Spending) -> None:
        """Replace the sums of ``day`` by those of all servers, which include ``told``, the report of this server."""
        self._today()
        if self._day == day:
            self._untold -= Counter(told)
            self._spent = Counter(everywhere) + self._untold

    def close(self) -> None:
        if self.audit:
            self.audit.close()

    def _spent_on(self, what: str, owner: str, usage: Usage, entry: Entry) -> None:
        """Count and record what was spent; the answer is given, whether the log can be written or not."""
        tokens = usage["input_tokens"] + usage["output_tokens"]
        self._add(owner, "tokens", tokens)
        try:
            self.record(what, owner, **entry, model_calls=usage["model_calls"], tokens=tokens)
        except RequestError as error:
            log.error("%s", error)

    def _today(self) -> Counter[tuple[str, str]]:
        if self._day != (today := datetime.now(UTC).date()):
            self._day, self._spent, self._untold = today, Counter(), Counter()
        return self._spent

    def _add(self, owner: str, what: str, number: int) -> None:
        self._today()[owner, what] += number
        self._untold[owner, what] += number

    def _reread(self, entry: Entry) -> None:
        if entry["at"][:10] == datetime.now(UTC).date().isoformat():
            self._today()[entry["who"], "questions"] += entry["what"] == "asked"
            self._spent[entry["who"], "tokens"] += entry.get("tokens", 0)

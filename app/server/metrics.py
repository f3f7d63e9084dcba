"""Counters for Prometheus, in a registry of their own, so that two servers in a process do not share them."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from app.server.runs import Run, Runs

SECONDS = (0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """Counts of runs and their outcomes, calls, tokens and seconds, without any question or owner."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("selfrag_requests", "HTTP requests by status.", ["status"], registry=registry)
        self._runs = Counter("selfrag_runs", "Runs that ended, by outcome or state.", ["outcome"], registry=registry)
        self.verified = Counter(
            "selfrag_verified_claims", "Sentences that verify_claim checked, by label.", ["label"], registry=registry
        )
        self._seconds = Histogram(
            "selfrag_run_seconds", "Seconds of answered runs.", buckets=SECONDS, registry=registry
        )
        self.drift = Gauge(
            "selfrag_calibration_drift", "1 if answers differ from those of the calibration.", registry=registry
        )
        self._calls = Counter("selfrag_model_calls", "Calls to the models in runs.", registry=registry)
        self._tokens = Counter("selfrag_tokens", "Tokens read and written in runs.", ["kind"], registry=registry)

    def watch(self, runs: Runs) -> None:
        """Add gauges of how many runs wait and are being answered."""
        for state in ("queued", "running"):
            gauge = Gauge(f"selfrag_runs_{state}", f"Runs that are {state}.", registry=self._registry)
            gauge.set_function(lambda state=state: runs.count(state))  # type: ignore[misc]

    def count_run(self, run: Run) -> None:
        """Count a run that has ended."""
        self._runs.labels((run.result and run.result.outcome) or run.state).inc()
        if result := run.result or run.checked:
            self._seconds.observe(result.usage["seconds"])
            self._calls.inc(result.usage["model_calls"])
            self._tokens.labels("input").inc(result.usage["input_tokens"])
            self._tokens.labels("output").inc(result.usage["output_tokens"])

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

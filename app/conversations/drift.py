"""Compare the answers given with a calibration, and what people said of them, with the labels it was fitted on."""

from app.calibrations import LibraryCalibration
from app.conversations.feedback import FeedbackStore
from app.conversations.tables import ThreadTables
from evaluation.measures.drift import Drift, drift
from run.candidates import ANSWERED


def drift_since(kept: LibraryCalibration, threads: ThreadTables | None, feedback: FeedbackStore | None) -> Drift:
    """Return how the answers in threads, and the judgements, compare with the labels. Raises `RequestError`."""
    said = [one for one in feedback.labels() if one.calibration == kept.name] if feedback else []
    judged = [one.feedback.judgement for one in said if one.outcome in ANSWERED]
    since = threads.confidences(kept.name) if threads else []
    return drift(kept.confidences, since, len(judged), len(judged) - judged.count("right"), kept.risk)

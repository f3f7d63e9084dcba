"""Find out whether a calibration still fits: compare newer answers with the labels that it was fitted on."""

from app.calibrations import LibraryCalibration
from app.conversations.feedback import FeedbackStore
from app.conversations.tables import ThreadTables
from evaluation.measures.drift import Drift, drift
from run.candidates import ANSWERED


def drift_since(kept: LibraryCalibration, threads: ThreadTables | None, feedback: FeedbackStore | None) -> Drift:
    """Compare the answers since the calibration with its confidences and its risk. Raises `RequestError`."""
    said = [one for one in feedback.labels() if one.calibration == kept.name] if feedback else []
    judged = [one.feedback.judgement for one in said if one.outcome in ANSWERED]
    since = threads.confidences(kept.name) if threads else []
    return drift(kept.confidences, since, len(judged), len(judged) - judged.count("right"), kept.risk)

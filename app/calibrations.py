"""Fit, keep and load the calibration of a library; it is used only with the models that it was fitted for."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from app.results.stamp import HASH_LENGTH, Stamp, calibration_name, stamp_of, with_library, without_secrets
from app.settings import Settings
from app.terminal.screen import Screen
from core.errors import RequestError
from core.files import make_private_folder, read_regular, replace_private
from core.fingerprint import digest
from core.json_lines import writing
from core.text import as_json, shown_path
from evaluation.calibrating import Calibrated, Trial, fit_calibration, trials_of, usable
from evaluation.datasets.question_set import load
from evaluation.judging.saved_replies import Replies
from evaluation.recorded_chat import Calls, with_recorded_chats
from evaluation.records import Dataset, Example, Provenance
from evaluation.written_labels import shuffled_passages, write_questions
from models.calibration import Fits
from retrieval.library.library import Library
from run.context import Context, Services, Thresholds

LARGEST = 1_000_000  # bytes
UNBOUNDED = 10**9  # calls
WHAT = {
    "chat_model": "the chat model",
    "critic_model": "the critic",
    "embedding_model": "the embedding model",
    "prompts": "the prompts",
    "base": "the critic's own calibration",
}


class LibraryCalibration(BaseModel, frozen=True, extra="forbid"):
    """Thresholds and regressions fitted to labelled questions on one library, and ``figures`` of how well they did.

    The calibration is used only with the models, prompts and critic's own calibration that ``fitted_for`` names.
    ``confidences`` belong to the answers to the labelled questions; at most a share ``risk`` of answers is wrong.
    """

    fitted_for: dict[str, str | None]
    fits: Fits
    thresholds: Thresholds
    made: date
    labels: int
    confidences: list[float]
    risk: float
    figures: dict[str, Any]

    @property
    def name(self) -> str:
        """The calibration's name in a result: ``library-`` and a hash of the calibration."""
        return f"library-{digest(self.model_dump_json())[:HASH_LENGTH]}"

    def over(self, services: Services, settings: Settings) -> Services:
        """Return the services with this calibration; a threshold that is set in the settings is kept."""
        fits = services.fits.model_copy(update={"support": self.fits.support, "graded": self.fits.graded})
        named = settings.selfrag_threshold_supported is not None
        update = {} if named else {name: getattr(self.thresholds, name) for name in ("supported", "verified")}
        return replace(services, thresholds=services.thresholds.model_copy(update=update), fits=fits)


def fitted_for(stamp: Stamp, base: str | None, library: Library, settings: Settings) -> dict[str, str | None]:
    """Return the models and prompts that a calibration depends on; ``base`` names the critic's own calibration."""
    embedding = without_secrets(library.store.model.name, settings)
    known = stamp.model_dump() | {"embedding_model": embedding, "base": base}
    return {name: known[name] for name in WHAT}


def kept_for(
    library: Library, stamp: Stamp, base: str | None, settings: Settings, screen: Screen
) -> LibraryCalibration | None:
    """Return the library's calibration if it has one for these models, else None; note why one cannot be used."""
    path = file_of(library, settings)
    try:
        kept = LibraryCalibration.model_validate_json(read_regular(path, LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):
        screen.note(f"{shown_path(path)} is no calibration of this version and is not used: run calibrate again.")
        return None
    now = fitted_for(stamp, base, library, settings)
    changed = [what for name, what in WHAT.items() if kept.fitted_for.get(name) != now[name]]
    if changed:
        screen.note(
            f"this library's calibration is not used, as it was made before a change of {' and '.join(changed)}: run "
            "calibrate again, or calibrate --reset."
        )
        return None
    return kept


def kept_by_settings(library: Library, settings: Settings, screen: Screen) -> LibraryCalibration | None:
    """Return the library's calibration as `kept_for` does, for the models that the settings name."""
    return kept_for(library, stamp_of(settings), calibration_name(settings), settings, screen)


def with_calibration(services: Services, library: Library, settings: Settings, screen: Screen) -> Services:
    """Return ``services`` with the library's calibration, if it has one for the models that the settings name."""
    kept = kept_by_settings(library, settings, screen)
    return kept.over(services, settings) if kept else services


def provenance_of(settings: Settings, library: Library) -> Provenance:
    """Return the stamp and the calibration of the models that the settings name, for an evaluation's records."""
    kept = kept_by_settings(library, settings, Screen(quiet=True))
    stamp = with_library(stamp_of(settings), library, settings)
    return Provenance(stamp=stamp.model_dump(), calibration=kept.name if kept else calibration_name(settings))


def labelled_questions(path: Path, settings: Settings) -> Dataset:
    """Return a file's questions that have an answer or are marked unanswerable. Raises `RequestError` without any."""
    dataset = load(path, _folder(settings) / "documents")
    examples = usable(dataset.examples)
    if not examples:
        raise RequestError(
            f"{shown_path(path.name)} says of no question what is right: give an answer, or that there is none."
        )
    return replace(dataset, examples=tuple(examples))


async def fit(
    services: Services,
    context: Context,
    examples: Sequence[Example] | None,
    library: Library,
    settings: Settings,
    *,
    made_for: Mapping[str, str | None],
    risk: float | None = None,
    budget: int = UNBOUNDED,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Calibrated, list[Trial]]:
    """Ask the examples with uncalibrated ``services``, fit a calibration, and keep it if it improves the confidence.

    Without examples the model writes some. The model's replies are kept, so that no call is made twice. Raises
    `RequestError` if nothing can be fitted or the ``budget`` of calls is used up, `ModelError` if the model fails.
    """
    with Replies(file_of(library, settings).with_suffix(".replies.jsonl")) as replies:
        asking = with_recorded_chats(services, replies, Calls(budget))
        withheld = None
        if examples is None:
            wrote = await write_questions(asking, shuffled_passages(library.store), context.k, progress)
            examples, withheld = wrote.examples, wrote.withheld
            keep_labels(labels_file(library, settings), "".join(f"{as_json(row)}\n" for row in wrote.rows()))
        trials = await trials_of(asking, context, examples, progress, withheld)
    made = fit_calibration(trials, risk, estimated=withheld is not None)
    if made.better:
        kept = LibraryCalibration(
            fitted_for=dict(made_for),
            fits=made.fits(services.fits),
            thresholds=made.thresholds(services.thresholds),
            made=date.today(),
            labels=len(trials),
            confidences=made.confidences(trials),
            risk=made.risk,
            figures=asdict(made),
        )
        keep_file(file_of(library, settings), json.dumps(kept.model_dump(mode="json"), indent=2))
    return made, trials


def keep_file(path: Path, text: str) -> None:
    """Write a file, or replace it. Raises `RequestError`."""
    with writing(path):
        make_private_folder(path.parent)
        replace_private({path: text.encode("utf-8", "replace")})


def keep_labels(path: Path, text: str) -> None:
    """Write the model's labels; rename an earlier file, which a person may have corrected. Raises `RequestError`."""
    with suppress(OSError):
        before = path.read_text(encoding="utf-8", errors="replace")
        if before != text:
            path.rename(path.with_suffix(f".{digest(before)[:HASH_LENGTH]}.jsonl"))
    keep_file(path, text)


def reset(library: Library, settings: Settings) -> bool:
    """Delete the library's calibration; return whether there was one. Raises `RequestError`."""
    path = file_of(library, settings)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RequestError(f"{shown_path(path)} cannot be deleted ({error.strerror}).") from error
    return True


def file_of(library: Library, settings: Settings) -> Path:
    """Return the file of a library's calibration; the model's replies are kept beside it."""
    return _folder(settings) / f"{digest(library.store.database.place)[:24]}.json"


def labels_file(library: Library, settings: Settings) -> Path:
    """Return the file of the labels that the model wrote, which a person may correct."""
    return file_of(library, settings).with_suffix(".labels.jsonl")


def _folder(settings: Settings) -> Path:
    return settings.libraries_folder.parent / "calibrations"

"""What comes with the models of this machine: thresholds and small regressions, from questions that no report uses."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from evidence.fit import Fits

EMBEDDED_FILE = Path(__file__).with_name("embedded.json")
MINILM_FILE = Path(__file__).with_name("minilm.json")


class Calibration(BaseModel):
    """Thresholds and regressions for one model, known by its SHA-256, and where they come from.

    Those of a chat model are for it as critic; those of an embedding model say which passages found are graded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    thresholds: dict[str, float]
    fits: Fits = Fits()
    provenance: dict[str, str] = {}


EMBEDDED = Calibration.model_validate_json(EMBEDDED_FILE.read_text(encoding="utf-8"))
MINILM = Calibration.model_validate_json(MINILM_FILE.read_text(encoding="utf-8"))

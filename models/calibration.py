"""What comes with the embedded models: thresholds and a small trained critic, from questions that no report uses."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from evidence.fit import Fits

EMBEDDED_FILE = Path(__file__).with_name("embedded.json")

# Cosine of MiniLM: of 101 passages that answered a SQuAD question of paragraphs 1 to 24 of the article in shared/data,
# the least similar had 0.21.
LEAST_SIMILAR = 0.2


class Calibration(BaseModel):
    """Thresholds and regressions for one chat model as critic, known by its SHA-256, and where they come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    thresholds: dict[str, float]
    fits: Fits = Fits()
    provenance: dict[str, str] = {}


EMBEDDED = Calibration.model_validate_json(EMBEDDED_FILE.read_text(encoding="utf-8"))

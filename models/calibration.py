"""What was calibrated for the embedded model, on questions that no report uses."""

EMBEDDED_THRESHOLDS: dict[str, float] = {"retrieve": 0.28, "relevant": 0.7}

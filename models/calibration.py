"""What was calibrated for the embedded models, on questions that no report uses."""

# On data/routes_tuning.jsonl (`python -m benchmarks.routes --questions data/routes_tuning.jsonl`); and on paragraphs
# 1 to 24 of the SQuAD 2.0 article in shared/data with twenty questions on other texts, by looking at the scores of
# passages that answer and of passages that do not.
EMBEDDED_THRESHOLDS: dict[str, float] = {"retrieve": 0.28, "relevant": 0.7}

# Cosine of MiniLM: of 101 passages that answered a SQuAD question of those paragraphs, the least similar had 0.21.
LEAST_SIMILAR = 0.2

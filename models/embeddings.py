"""The default embedding model: all-MiniLM-L6-v2 as an int8 ONNX export, on the CPU."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from core.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "all-MiniLM-L6-v2-int8"
DIMENSION = 384
MAX_TOKENS = 256
_BATCH = 8  # larger ones are slower: one batch keeps the cores busy, and short texts are padded to the longest


class MiniLM(Embeddings):
    """Unit-length sentence vectors of ``DIMENSION`` numbers, from a text's first ``MAX_TOKENS`` tokens.

    ``model`` and ``tokenizer`` are the paths of the ONNX file and of ``tokenizer.json``. Thread-safe. Raises ModelError
    if a file cannot be loaded.
    """

    def __init__(self, model: Path, tokenizer: Path, *, threads: int = 2) -> None:
        # onnxruntime sends telemetry about the machine to its vendor, and stores a device id in ~/.cache. It reads the
        # variable on import; if it was imported earlier, the call below stops all telemetry but that of its start.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime
        from tokenizers import Tokenizer

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Spinning threads would take the cores from the chat model, which runs at the same time.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # both libraries raise their own classes, and plain Exception
            raise ModelError(
                f"The embedding model could not be loaded from {model} and {tokenizer.name} beside it: "
                "delete both and run `python -m app pull`."
            ) from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed the texts, in their order; texts of similar length share a batch, which minimises padding."""
        import numpy as np

        vectors = np.empty((len(texts), DIMENSION), np.float32)
        by_length = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for start in range(0, len(texts), _BATCH):
            batch = by_length[start : start + _BATCH]
            vectors[batch] = self._embed([texts[number] for number in batch])
        rows: list[list[float]] = vectors.tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Embed one text; the model treats questions and passages alike."""
        return self.embed_documents([text])[0]

    def _embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np

        # The tokenizer rejects lone surrogates, as from an undecodable command line.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        encodings = self._tokenizer.encode_batch(clean)
        ids = np.array([encoding.ids for encoding in encodings], np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], np.int64)
        (tokens,) = self._session.run(
            None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        )
        weights = mask[:, :, np.newaxis].astype(np.float32)
        means = (tokens * weights).sum(axis=1) / weights.sum(axis=1)  # [CLS] and [SEP]: never zero tokens
        unit: NDArray[np.float32] = means / np.linalg.norm(means, axis=1, keepdims=True)
        return unit

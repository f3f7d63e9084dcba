import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import ModelError
from models.embeddings import MiniLM


def test_a_missing_model_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.onnx .*app pull"):
        MiniLM(tmp_path / "model.onnx", tmp_path / "tokenizer.json")


def test_importing_the_models_loads_no_engine() -> None:
    program = (
        "import sys, models.embedded, models.embeddings, models.model_files\n"
        "heavy = {'xllamacpp', 'onnxruntime', 'tokenizers', 'huggingface_hub', 'numpy', 'filelock'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""

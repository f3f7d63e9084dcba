from pathlib import Path

import platformdirs
import pytest

from models import files


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The user's own cache, so that 1.1 GB is fetched once and not for every run."""
    return Path(platformdirs.user_cache_dir("selfrag")) / "models"


@pytest.fixture(scope="session")
def chat_model(model_folder: Path) -> Path:
    return files.ensure(files.CHAT_MODEL, model_folder)

import os
from pathlib import Path

import pytest

from app.cli import main


@pytest.mark.timeout(60)
def test_a_fifo_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "graph.mmd")
    assert main(["graph", "--output", str(tmp_path / "graph.mmd")]) == 2
    assert "graph.mmd cannot be written (it is not a regular file): name another file." in capsys.readouterr().err


@pytest.mark.usefixtures("readable_by_all")
def test_a_picture_is_the_users_own_file(tmp_path: Path) -> None:
    (tmp_path / "link.mmd").symlink_to("graph.mmd")
    assert main(["graph", "--output", str(tmp_path / "link.mmd")]) == 0
    assert (tmp_path / "graph.mmd").stat().st_mode & 0o777 == 0o644

import os
from pathlib import Path

from app.checking.text_to_check import TextToCheck
from app.commands.check import MOST_KEPT, file_for
from app.settings import Settings


def test_what_is_known_of_other_texts_makes_room_and_of_the_same_text_stays(tmp_path: Path) -> None:
    (tmp_path / "checks").mkdir()
    settings = Settings(selfrag_home=tmp_path)
    texts = [TextToCheck(f"Text {number}.", []) for number in range(MOST_KEPT + 1)]
    files = []
    for number, text in enumerate(texts[:-1]):
        files.append(file_for(text, settings))
        files[-1].touch()
        os.utime(files[-1], (number, number))
    assert file_for(texts[0], settings) == files[0]
    assert all(file.exists() for file in files)
    file_for(texts[-1], settings)
    assert [file.exists() for file in files] == [False] + [True] * (MOST_KEPT - 1)

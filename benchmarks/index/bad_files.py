"""A folder of input that is not what it seems, as people's folders have it and as nobody's should."""

from __future__ import annotations

import os
import socket
from pathlib import Path

SPARSE = 2_000_000_000  # bytes


def write_bad_files(folder: Path) -> dict[bytes, str]:
    """Write them; what is to become of each, by its name: indexed, empty, failed or skipped.

    Root can read what is closed to others, unless it has given up ``CAP_DAC_OVERRIDE`` and ``CAP_DAC_READ_SEARCH``.
    """
    folder.mkdir()
    base = os.fsencode(folder)
    for name, content in CONTENTS.items():
        with open(os.path.join(base, name), "wb") as file:  # noqa: PTH118, PTH123 - a name need not be text
            file.write(content)
    with (folder / "sparse.txt").open("wb") as file:
        file.truncate(SPARSE)
    os.mkfifo(folder / "fifo.txt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.txt"))
    (folder / "loop").symlink_to(folder)
    (folder / "itself.txt").symlink_to(folder / "itself.txt")
    (folder / "nowhere.txt").symlink_to(folder / "gone.txt")
    (folder / "again.txt").symlink_to(folder / "good.txt")
    (folder / "unreadable.txt").write_text("Nobody may read this.")
    (folder / "unreadable.txt").chmod(0)
    (folder / "closed").mkdir()
    (folder / "closed" / "inside.txt").write_text("Nobody may look in here.")
    (folder / "closed").chmod(0)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "unseen.txt").write_text("This is hidden.")
    (folder / ".hidden.txt").write_text("This is hidden, too.")
    deep = folder.joinpath(*["deep"] * 60)
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_text("This lies sixty folders down.")
    bound = not os.access(folder / "unreadable.txt", os.R_OK)
    closed = {b"unreadable.txt": "failed"} if bound else {b"unreadable.txt": "indexed", b"inside.txt": "indexed"}
    return EXPECTED | closed


CONTENTS = {
    b"good.txt": b"A good file among bad ones says that the kettle is blue.",
    b"with\nnewline.txt": b"A name may have a line end in it.",
    b"not-\xff\xfe-utf8.txt": b"A name need not be text at all.",
    b"not\xff\xfeutf8.csv": b"city,river\nParis,Seine\n",
    b"\xe2\x80\xaereversed.txt": b"A name may turn the order of its letters.",
    b"n" * 251 + b".txt": b"A name may be as long as the system lets it.",
    b"empty.txt": b"",
    b"blank.md": b" \n\t\n",
    b"binary.txt": bytes(range(256)) * 40,
    b"zeros.csv": bytes(5_000),
    b"utf16.txt": "A text may be in UTF-16.".encode("utf-16"),
    b"latin1.txt": "Ein Text darf auch in älterer Schreibweise gespeichert sein.".encode("latin-1"),
    b"no.pdf": b"This is no PDF.",
    b"cut.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n",
    b"no.docx": b"This is no DOCX.",
    b"cut.docx": b"PK\x03\x04\x14\x00\x00\x00",
    b"nested.html": b"<div>" * 100_000 + b"It is nested.",
    b"nested.jsonl": b"[" * 100_000 + b"\n",
    b"no.jsonl": b"This is no JSON.\n",
    b"header.csv": b"city,river\n",
    b"quotes.csv": b'a,b\n"never ends' + b",1\n" * 1000,
    b"one-line.txt": b"x" * 3_000_000,
    b"picture.png": b"\x89PNG\r\n\x1a\n",
    b"without-suffix": b"This has no suffix.",
    b"UPPER.TXT": b"A suffix may be shouted.",
}
EXPECTED = {
    **dict.fromkeys(CONTENTS, "indexed"),
    **dict.fromkeys((b"empty.txt", b"blank.md", b"header.csv", b"zeros.csv"), "empty"),
    **dict.fromkeys((b"binary.txt", b"no.pdf", b"cut.pdf", b"no.docx", b"cut.docx"), "failed"),
    **dict.fromkeys((b"nested.jsonl", b"no.jsonl", b"sparse.txt"), "failed"),
    **dict.fromkeys((b"picture.png", b"without-suffix", b"fifo.txt", b"socket.txt"), "skipped"),
    **dict.fromkeys((b"loop", b"itself.txt", b"nowhere.txt", b".hidden.txt"), "skipped"),
    b"unseen.txt": "out of sight",
    b"deep.txt": "indexed",
    b"again.txt": "the same file again",
}

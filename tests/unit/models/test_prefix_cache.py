import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate

from models.prefix_cache import Prefixes

PROMPTS = [ChatPromptTemplate.from_messages([("system", f"Rule {n}."), ("human", "About {text}")]) for n in range(3)]


class Server:
    """What llama.cpp's server does, with one character a token, and no state worth the name."""

    def __init__(self, folder: Path, *, read: int = 10**6, cached: int = 10**6, busy: bool = False) -> None:
        self.folder, self.read, self.cached, self.busy = folder, read, cached, busy
        self.slot = ""
        self.cache: list[str] = []
        self.asked: list[str] = []
        self.broken: set[str] = set()
        self.modes: set[int] = set()

    def __call__(self, path: str, body: Mapping[str, Any] | None) -> str:
        self.asked.append(path)
        if path in self.broken:
            raise OSError(path)
        return json.dumps(self._reply(path, dict(body))) if body is not None else self._metrics()

    def _metrics(self) -> str:
        return (
            f"# HELP\nllamacpp:requests_processing {int(self.busy)}\nllamacpp:requests_deferred 0\n"
            f"llamacpp:prompt_tokens_total {self.read}"
        )

    def _reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/apply-template":
            return {"prompt": "".join(f"<{one['role']}>{one['content']}" for one in body["messages"]) + "<assistant>"}
        if path == "/tokenize":
            return {"tokens": [ord(letter) for letter in body["content"]]}
        if path == "/completion":
            self.cache.append(self.slot)
            self.slot = "".join(map(chr, body["prompt"]))
            return {"timings": {"prompt_n": max(0, len(self.slot) - self.cached)}}
        if path.endswith("save"):
            with (self.folder / body["filename"]).open("w") as file:
                self.modes.add(os.fstat(file.fileno()).st_mode & 0o777)
                file.write(self.slot)
            return {"n_saved": len(self.slot)}
        assert path.endswith("restore")
        self.slot = (self.folder / body["filename"]).read_text()
        return {}


def kept(
    folder: Path,
    server: Server,
    identity: str = "model",
    most_bytes: int = 10**9,
    prompts: Sequence[ChatPromptTemplate] = PROMPTS,
    used: slice = slice(None),
) -> None:
    """Keep what a server read of the prompts that were used."""
    prefixes = Prefixes(folder, prompts, most_bytes)
    assert prefixes.open()
    prefixes.restore(server, identity)
    for prompt in prompts[used]:
        prefixes.note(prompt.format_messages(text="the sky"))
    prefixes.keep(server)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "prefixes"


def restored(folder: Path, identity: str = "model") -> list[str]:
    """What a new server has read after `Prefixes.restore`."""
    server = Server(folder)
    Prefixes(folder, PROMPTS).restore(server, identity)
    return [text for text in [*server.cache, server.slot] if text]


def test_a_fixed_part_that_one_server_read_the_next_of_its_model_knows_and_does_not_write_again(folder: Path) -> None:
    kept(folder, Server(folder))
    assert restored(folder) == [f"<system>Rule {n}.<user>About " for n in range(3)]
    assert restored(folder, "another model") == []
    server = Server(folder)
    kept(folder, server)
    assert not any(path.endswith("save") for path in server.asked)


@pytest.mark.parametrize("damage", [b"", b"x", None])
def test_a_damaged_file_never_reaches_the_server_and_is_made_anew(folder: Path, damage: bytes | None) -> None:
    kept(folder, Server(folder))
    for path in folder.glob("*.kv"):
        path.write_bytes(path.read_bytes()[:-1] if damage is None else damage)
    server = Server(folder)
    Prefixes(folder, PROMPTS).restore(server, "model")
    assert server.asked == []
    assert list(folder.iterdir()) == []
    kept(folder, Server(folder))
    assert len(restored(folder)) == 3


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_user_may_read_what_is_kept_and_what_others_could_read_is_closed(folder: Path) -> None:
    server = Server(folder)
    kept(folder, server)
    assert server.modes == {0o600}  # also before there is anything in it
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    for path in (*folder.iterdir(), folder):
        path.chmod(0o644 if path.is_file() else 0o755)
    kept(folder, Server(folder))
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


@pytest.mark.timeout(30)
def test_a_fifo_in_the_place_of_what_is_kept_is_not_waited_for(folder: Path) -> None:
    kept(folder, Server(folder))
    for path in list(folder.iterdir()):
        path.unlink()
        os.mkfifo(path)
    kept(folder, Server(folder))
    assert len(restored(folder)) == 3


def test_those_used_longest_ago_go_first(folder: Path) -> None:
    kept(folder, Server(folder), identity="used")
    size = sum(path.stat().st_size for path in folder.iterdir())
    kept(folder, Server(folder), identity="unused")
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    restored(folder, "used")
    kept(folder, Server(folder), identity="third", most_bytes=2 * size)
    assert [len(restored(folder, identity)) for identity in ("used", "unused", "third")] == [3, 0, 3]


@pytest.mark.parametrize("server_has", [{"read": 10}, {"busy": True}])
def test_nothing_is_read_that_no_question_needed(folder: Path, server_has: dict[str, Any]) -> None:
    server = Server(folder, **server_has)
    kept(folder, server)
    assert "/completion" not in server.asked
    assert list(folder.iterdir()) == []


def test_it_stops_at_a_prefix_that_had_to_be_read(tmp_path: Path) -> None:
    long = [ChatPromptTemplate.from_messages([("system", f"{n}" * 500), ("human", "{text}")]) for n in range(3)]
    kept(tmp_path, Server(tmp_path, cached=0), prompts=long)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_prompt_that_was_not_used_is_neither_read_nor_waited_for(tmp_path: Path) -> None:
    kept(tmp_path, Server(tmp_path, read=60), used=slice(0, 3, 2))  # as much as of the two, not of all three
    assert restored(tmp_path) == ["<system>Rule 0.<user>About ", "<system>Rule 2.<user>About "]


@pytest.mark.parametrize("broken", ["/metrics", "/tokenize", "/completion", "/slots/0?action=save"])
def test_a_server_that_refuses_costs_nothing_but_the_gain(folder: Path, broken: str) -> None:
    server = Server(folder)
    server.broken = {broken}
    kept(folder, server)
    assert list(folder.iterdir()) == []


def test_a_restore_that_is_refused_is_passed_over(folder: Path) -> None:
    kept(folder, Server(folder))
    server = Server(folder)
    server.broken = {"/slots/0?action=restore"}
    Prefixes(folder, PROMPTS).restore(server, "model")
    assert len(server.asked) == 3


def test_a_state_longer_than_the_prefix_is_not_kept(folder: Path) -> None:
    class Chatty(Server):
        def _reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
            reply = super()._reply(path, body)
            return {"n_saved": reply["n_saved"] + 1} if path.endswith("save") else reply

    kept(folder, Chatty(folder))
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not Prefixes(tmp_path / "file" / "prefixes", PROMPTS).open()

"""What a fault makes of a reply, byte by byte."""

import json
import re

import pytest

from tests.integration.misbehaviour import CUT, DRIP, FAULTS, HANG, TRUNCATED, Wire, completion_of, reply, say, status

SOUND = completion_of("The sky is blue.", [{"token": "The", "logprob": -0.1}], {"prompt_tokens": 9})


def body_of(wire: Wire) -> bytes:
    return b"".join(wire.frames())


def events_of(wire: Wire) -> list[str]:
    chunks = re.findall(rb"[0-9a-f]+\r\n(.*?)\r\n(?=[0-9a-f]+\r\n|\Z)", body_of(wire), re.DOTALL)
    return [chunk.decode().strip().removeprefix("data: ") for chunk in chunks]


def test_a_sound_reply_is_whole_or_streamed() -> None:
    assert json.loads(body_of(reply(SOUND))) == SOUND
    *events, done, last = events_of(reply(SOUND, stream=True))
    assert (done, last) == ("[DONE]", "")
    said = [choice["delta"].get("content") or "" for event in events for choice in json.loads(event)["choices"]]
    assert "".join(said) == "The sky is blue."
    assert json.loads(events[-1])["usage"] == {"prompt_tokens": 9}


def test_the_head_names_the_length_unless_another_is_promised() -> None:
    whole, cut = reply(SOUND), reply(SOUND, CUT)
    length = len(body_of(whole))
    assert f"Content-Length: {length}\r\n".encode() in whole.head()
    assert f"Content-Length: {length}\r\n".encode() in cut.head()
    assert len(body_of(cut)) == length // 2
    assert f"Content-Length: {length // 2}\r\n".encode() in reply(SOUND, TRUNCATED).head()


def test_what_is_cut_has_no_last_chunk() -> None:
    assert body_of(reply(SOUND, stream=True)).endswith(b"0\r\n\r\n")
    assert not body_of(reply(SOUND, CUT, stream=True)).endswith(b"0\r\n\r\n")
    assert body_of(reply(SOUND, TRUNCATED, stream=True)).endswith(b"0\r\n\r\n")


def test_faults_add_up() -> None:
    both = reply(SOUND, say("No.") + status(503))
    assert both.status == 503
    slow = reply(SOUND, say("No.") + DRIP)
    assert (slow.end, slow.pause) == ("drip", 1.0)
    assert reply(SOUND, HANG).head() == b""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_changes_what_is_sent_and_nothing_else(name: str, stream: bool) -> None:
    before = json.dumps(SOUND)
    wire, sound = reply(SOUND, FAULTS[name], stream=stream), reply(SOUND, stream=stream)
    assert (wire.head(), wire.pieces, wire.end) != (sound.head(), sound.pieces, sound.end)
    assert json.dumps(SOUND) == before

import gzip
import math
import socket
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from app.compose import embeddings_of
from app.settings import Settings
from core.errors import ModelError, RequestError
from models.failures import TransientModelError
from models.remote_embeddings import BATCH, BATCH_CHARACTERS, text_batches
from tests.integration.hasty import hasty  # noqa: F401
from tests.integration.loopback import Loopback, Sent, json_reply, loopback
from tests.integration.misbehaviour import HANG, Wire, whole

KEY = "swordfish-in-the-lake"
NO_VECTORS = r"openai:small (did not give one vector|sent no valid embedding)"
Embed = Callable[..., list[list[float]]]


def embeddings(url: str, seconds: float = 20, provider: str = "openai", address: str | None = "openai_base_url") -> Any:
    settings = Settings(
        selfrag_embedding_model=f"{provider}:small",
        openai_api_key=KEY if provider == "openai" else None,
        **({address: f"{url}/v1"} if address else {}),
        selfrag_call_seconds=seconds,
    )
    return embeddings_of(settings)[0]


@pytest.fixture(
    params=[("openai", "openai_base_url"), ("openai", "openai_api_base"), ("azure_openai", None), ("ollama", None)]
)
def embed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Embed:
    """Embed texts with the model of a server at an address, in each of the ways to name it."""

    def vectors(url: str, texts: list[str], seconds: float = 20) -> list[list[float]]:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", url)
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        monkeypatch.setenv("OLLAMA_HOST", url)
        for name in ("AZURE_OPENAI_API_KEY", "OLLAMA_API_KEY"):
            monkeypatch.setenv(name, KEY)
        found: list[list[float]] = embeddings(url, seconds, *request.param).embed_documents(texts)
        return found

    return vectors


def lengths(sent: Sent) -> Wire:
    """A vector of each text: its length, and one."""
    texts = sent.body["input"]
    vectors = [[float(len(text)), 1.0] for text in texts]
    return json_reply({"data": [{"embedding": one} for one in vectors], "embeddings": vectors})


def failure(embed: Embed, server: Loopback, **settings: Any) -> ModelError:
    with pytest.raises(ModelError) as error:
        embed(server.url, ["Why?"], **settings)
    return error.value


def test_texts_go_out_as_they_are_and_vectors_come_back_in_order(embed: Embed) -> None:
    texts = ["a", "bcd", "half \udcff"]
    with loopback(lengths) as server:
        assert embed(server.url, texts) == [[1.0, 1.0], [3.0, 1.0], [6.0, 1.0]]
    assert server.sent[0].body["input"] == ["a", "bcd", "half ?"]


def test_no_other_server_is_looked_for(embed: Embed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tokenizer's table, for example, would come from elsewhere."""
    really, sought = socket.getaddrinfo, []

    def look_up(host: Any, *rest: Any, **more: Any) -> Any:
        sought.append(host)
        return really(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with loopback(lengths) as server:
        embed(server.url, ["a"])
    assert {host.decode() if isinstance(host, bytes) else host for host in sought} <= {"127.0.0.1"}
    assert len(server.sent) == 1


def test_a_wrong_key_is_named_and_not_shown(embed: Embed) -> None:
    wrong = json_reply({"error": {"message": f"The key {KEY} is wrong", "code": 1}}, 401)
    with loopback(lambda sent: wrong) as server:
        error = failure(embed, server)
    assert "refused the key: check " in str(error)
    assert KEY not in str(error)
    assert (len(server.sent), error.exit_code) == (1, 3)


def test_the_settings_to_look_at_are_named() -> None:
    replies = [json_reply({"error": {"message": "no"}}, status) for status in (401, 404, 400)]
    with loopback(lambda sent: replies.pop(0)) as server:
        one = embeddings(server.url)
        for setting in ("OPENAI_API_KEY", "SELFRAG_EMBEDDING_MODEL", "SELFRAG_CHUNK_SIZE"):
            with pytest.raises(ModelError, match=setting):
                one.embed_query("Why?")


def test_a_server_that_hangs_is_given_up_once(embed: Embed) -> None:
    with loopback(lambda sent: HANG.carry(whole(b""))) as server:
        error = failure(embed, server, seconds=0.3)
    assert "did not answer in time" in str(error)
    assert len(server.sent) < 2  # none, where this machine was busy


def test_a_server_that_is_not_there_is_an_error_at_once(embed: Embed) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ModelError, match="Cannot reach the server of ") as error:
        embed(url, ["Why?"])
    assert not isinstance(error.value, TransientModelError)


def test_what_may_pass_is_tried_again_and_not_for_ever(embed: Embed) -> None:
    overloaded = json_reply({"error": {"message": "overloaded"}}, 500)
    replies = [overloaded, overloaded]
    with loopback(lambda sent: replies.pop() if replies else lengths(sent)) as server:
        assert embed(server.url, ["a"]) == [[1.0, 1.0]]
        assert len(server.sent) == 3
    with loopback(lambda sent: overloaded) as server:
        assert "overloaded" in str(failure(embed, server))
    assert len(server.sent) == 3


def test_a_compressed_reply_a_redirect_and_one_without_end_are_errors(embed: Embed) -> None:
    bomb = Wire((gzip.compress(b"\0" * 50_000_000, 1),), headers={"Content-Encoding": "gzip"})
    with loopback(lambda sent: bomb) as server:
        assert "compresses its replies" in str(failure(embed, server))
    with loopback(lengths) as other:
        with loopback(lambda sent: whole(b"", 308, location=other.url)) as server:
            assert "redirects are not followed" in str(failure(embed, server))
        assert other.sent == []
    pour = Wire((b" " * 65_536,), headers={"Content-Type": "application/json"}, framing="none", end="drip")
    with loopback(lambda sent: pour) as server:
        assert "reply is longer than 12,595,200 bytes" in str(failure(embed, server))


@pytest.mark.parametrize(
    "vectors",
    [
        [[1.0, 2.0], [1.0]],
        [[], []],
        [[1.0, math.nan], [1.0, 2.0]],
        [[1e300, 1.0], [1.0, 2.0]],
        [["x", 1.0], [1.0, 2.0]],
        [None, [1.0, 2.0]],
        [[[1.0]], [[2.0]]],
        [1.0, 2.0],
        *(b"", b"[]", b"{}", b'{"data": []}', b'{"data": [{}]}', b'{"data": [{}, {}]}', b"<html>", b"[" * 100_000),
        [[1.0, 2.0]],
    ],
)
def test_what_are_no_vectors_is_named(vectors: Any) -> None:
    is_body = isinstance(vectors, bytes)
    reply = whole(vectors) if is_body else json_reply({"data": [{"embedding": one} for one in vectors]})
    with loopback(lambda sent: reply) as server, pytest.raises(ModelError, match=NO_VECTORS):
        embeddings(server.url).embed_documents(["a", "b"])


def test_a_batch_of_the_longest_vectors_fits_the_bound() -> None:
    """As servers write them that print every digit, one number a line."""

    def answer(sent: Sent) -> Wire:
        vector = b'{"embedding": [' + b"-0.12345678901234567,\n" * 8191 + b"0.5]}"
        return whole(b'{"data": [' + b", ".join([vector] * len(sent.body["input"])) + b"]}")

    with loopback(answer) as server:
        assert len(embeddings(server.url).embed_documents(["text"] * BATCH)) == BATCH
    assert len(server.sent) == 1


def test_vectors_may_come_as_bytes() -> None:
    written = b64encode(np.array([1.0, -0.5], "<f4").tobytes()).decode()
    with loopback(lambda sent: json_reply({"data": [{"embedding": written}]})) as server:
        assert embeddings(server.url).embed_query("a") == [1.0, -0.5]
    assert server.sent[0].body["encoding_format"] == "base64"


def test_texts_are_sent_in_batches_that_a_server_takes() -> None:
    texts = [*("short" for _ in range(BATCH + 1)), "x" * BATCH_CHARACTERS, "y" * BATCH_CHARACTERS, "z"]
    made = list(text_batches(texts))
    assert [len(batch) for batch in made] == [BATCH, 1, 1, 1, 1]
    assert [text for batch in made for text in batch] == texts
    assert list(text_batches([])) == []


def test_openai_itself_is_not_asked_without_a_key() -> None:
    with pytest.raises(RequestError, match="openai:small cannot be used without a key: set OPENAI_API_KEY"):
        embeddings_of(Settings(selfrag_embedding_model="openai:small"))


async def test_the_event_loop_does_not_wait_for_it() -> None:
    with loopback(lengths) as server:
        assert await embeddings(server.url).aembed_query("four") == [4.0, 1.0]

import pytest

from models.redaction import KEY_LENGTH, Secrets, without_password


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/v1", "https://host/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("https://me:swordfish@host/v1?key=tuna#cod", "https://host/v1"),
        ("http://us@er:swordfish@host:81/v1", "http://host:81/v1"),
        ("http://user:12/swordfish@host/v1", "http://user"),
        ("http://user:sword#fish@host/v1", "http://user"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown


@pytest.mark.parametrize(
    "said",
    [
        "bad key swordfish-1234",
        "bad header Basic dXNAZXI6c2VjIHJldA==",
        "user us@er unknown",
        "password sec%20ret is wrong",
        "password sec ret is wrong",
        "no such host as us@er:sec%20ret@host",
    ],
)
def test_every_part_of_what_was_sent_is_hidden(said: str) -> None:
    shown = Secrets("swordfish-1234", "http://us@er:sec%20ret@host/v1").redacted(said)
    assert "[key]" in shown
    assert not any(part in shown for part in ("swordfish", "dXNA", "us@er", "sec%20ret", "sec ret"))


def test_a_key_is_hidden_as_json_writes_it() -> None:
    assert "012345" not in Secrets('a"b\\c-012345').hidden('{"key": "a\\"b\\\\c-012345"}')


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "HF_TOKEN", "my_secret", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_keys_of_the_environment_are_hidden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "swordfish-1234\n")
    assert Secrets().hidden("bad swordfish-1234.") == "bad [key]."


def test_a_key_in_the_query_of_an_address_is_hidden() -> None:
    secrets = Secrets(None, "https://host/v1?key=swordfish&version=2024-10")
    assert secrets.redacted("no such path: /v1?key=swordfish/chat") == "no such path: /v1?key=[key]/chat"


def test_of_a_databases_address_only_the_passwords_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://reader:sword%2Ffish@host/docs?sslrootcert=/etc/ssl/own-ca.pem&sslpassword=mackerel"
    monkeypatch.setenv("SELFRAG_STORE", url)
    said = 'sword/fish of user "reader", mackerel of "/etc/ssl/own-ca.pem"'
    assert Secrets().redacted(said) == '[key] of user "reader", [key] of "/etc/ssl/own-ca.pem"'


def test_a_short_secret_is_hidden_where_it_stands_alone() -> None:
    assert Secrets("up").hidden("Cannot look up the pupil: up.") == "Cannot look [key] the pupil: [key]."


def test_words_that_are_keys_of_local_servers_stay_in_answers() -> None:
    assert Secrets("lm-studio").hidden("Start lm-studio first.", KEY_LENGTH) == "Start lm-studio first."


def test_what_has_no_secret_stays_as_it_is() -> None:
    said = "The task_manager of a Bearer: 100 % “fine”\n"
    assert Secrets(None, None).hidden(said) == said
    assert Secrets("", "no address").hidden(said) == said


def test_a_key_and_a_proxys_password_that_are_no_text_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of the environment that are no UTF-8 come as surrogates."""
    monkeypatch.setenv("SOME_API_KEY", "swordfish\udcff")
    monkeypatch.setenv("HTTP_PROXY", "http://user:tuna-fish\udcff@host")
    assert Secrets().redacted("It is swordfish\udcff, or tuna-fish\udcff.") == "It is [key], or [key]."

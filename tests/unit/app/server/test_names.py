"""The names by which clients know documents, whatever the roots of the library."""

import pytest

from app.server.names import Names, without_paths

ADA, BOB, NOTES = "/home/ada/contracts", "/home/bob/contracts", "/srv/notes.md"


@pytest.mark.parametrize(
    ("roots", "path", "name"),
    [
        ([ADA, NOTES], f"{ADA}/2024/lease.pdf", "contracts/2024/lease.pdf"),
        ([ADA, NOTES], NOTES, "notes.md"),
        ([ADA, BOB], f"{ADA}/lease.pdf", "ada/contracts/lease.pdf"),
        ([ADA, BOB], f"{BOB}/lease.pdf", "bob/contracts/lease.pdf"),
        (["/home/x/a/docs", "/srv/x/b/docs", "/opt/b/docs"], "/srv/x/b/docs/1.md", "x/b/docs/1.md"),
        (["/contracts", ADA, BOB], "/contracts/1.md", "contracts/1.md"),
        (["/z/a", "/q/a/docs", "/r/b/docs"], "/q/a/docs/1.md", "q/a/docs/1.md"),  # /z/a may have docs too
        (["/home/ada", ADA], f"{ADA}/1.md", "contracts/1.md"),
        (["/"], "/etc/motd.txt", "etc/motd.txt"),
        ([ADA], f"{ADA}2/lease.pdf", "lease.pdf"),  # of a folder that is no longer in the library
        ([ADA], "/tmp/a\u202eb\nc.pdf", "ab c.pdf"),
        ([ADA], "uploads:/ann/red.txt", "uploads:/ann/red.txt"),
        ([], "https://example.org/a/b.html", "https://example.org/a/b.html"),
    ],
)
def test_a_document_is_named_from_what_was_indexed(roots: list[str], path: str, name: str) -> None:
    assert Names(roots).name_of(path) == name


@pytest.mark.parametrize(
    ("given", "pattern"),
    [
        ("/ada/contracts/2024/*.pdf", f"{ADA}/2024/*.pdf"),
        ("/notes.md", NOTES),
        ("/a[[]1]/1.md", "/srv/a[[]1]/1.md"),
        ("/a[1]/1.md", "/srv/a[[]1]/1.md"),
        ("/uploads:/ann/red.txt", "uploads:/ann/red.txt"),
        ("/lease.pdf", "lease.pdf"),  # of a document that lies in no root
        ("contracts/*.pdf", "contracts/*.pdf"),
        (f"{BOB}/*.pdf", f"{BOB}/*.pdf"),
        ("/home/*/contracts/1.md", "/home/*/contracts/1.md"),
        ("notes.md", "notes.md"),
    ],
)
def test_a_name_behind_a_slash_is_one_document(given: str, pattern: str) -> None:
    assert Names([ADA, BOB, NOTES, "/srv/a[1]", "uploads:"]).pattern(given) == pattern


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"{ADA}/2024/lease.pdf is gone.", "contracts/2024/lease.pdf is gone."),
        (f"The file '{NOTES}' is gone.", "The file 'notes.md' is gone."),
        (f"{ADA}2/lease.pdf is gone.", "lease.pdf is gone."),
        ("The index in /home/ada/my data/libraries/x is damaged.", "The index in my data/libraries/x is damaged."),
        ("See /docs, or http://127.0.0.1:8321/v1/models and and/or.",) * 2,
        ("The documents in /docs/a are gone: see /docs.", "The documents in docs/a are gone: see /docs."),
    ],
)
def test_an_error_names_no_folder_of_the_disk(said: str, told: str) -> None:
    assert Names([ADA, NOTES, "/docs"]).named({"error": {"message": said}}) == {"error": {"message": told}}


def test_the_words_of_documents_are_told_as_they_are() -> None:
    value = {"text": f"See {ADA}/lease.pdf.", "reason": "It says: see /etc/app/settings.", "page": 3}
    assert Names([ADA]).named(value) == value


def test_why_a_document_is_left_out_names_no_folder_of_the_disk() -> None:
    value = {"source": NOTES, "status": "failed", "reason": "It was excluded by '/srv/old/*'."}
    assert Names([NOTES]).named(value) == {**value, "source": "notes.md", "reason": "It was excluded by '*'."}


def test_outside_of_a_server_paths_are_whole() -> None:
    assert without_paths({"source": NOTES}) == {"source": NOTES}

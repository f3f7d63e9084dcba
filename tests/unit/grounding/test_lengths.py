import pytest

from grounding.lengths import asks_for_a_list, document_asked_for, length_asked_for, subject_asked_for


@pytest.mark.parametrize(
    "question",
    [
        "Summarise the tenant's duties",
        "Could you please summarize lease.pdf?",
        "Give me a short overview of the lease",
        "Fasse den Vertrag bitte zusammen",
        "Résumez le contrat",
        "Compara las dos ofertas",
        "请总结租约",
    ],
)
def test_a_summary_or_a_comparison_is_long(question: str) -> None:
    assert length_asked_for(question) == "long"
    assert subject_asked_for(question) != question


@pytest.mark.parametrize(
    "question",
    [
        "Who is on the list of members?",
        "Which summary was signed?",
        "Listen to the band where?",
        "Wer steht auf der Liste?",
        "",
    ],
)
def test_any_other_question_is_short(question: str) -> None:
    assert length_asked_for(question) == "short"
    assert subject_asked_for(f" {question}\n") == f" {question}\n", "it is judged as it is"


@pytest.mark.parametrize(
    ("question", "listed"),
    [
        ("List all fees", True),
        ("Nenne alle Pflichten des Mieters", True),
        ("列出所有费用", True),
        ("Summarise the list of fees", True),
        ("Compare the fees", False),
        ("Which fees are on the list?", False),
    ],
)
def test_only_a_list_is_asked_for_as_one(question: str, listed: bool) -> None:
    assert asks_for_a_list(question) == listed


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Summarise lease.pdf", "lease.pdf"),
        ("Summarise the main points of the document “lease-2024.md”.", "lease-2024.md"),
        ("Fasse den Inhalt der Datei Mietvertrag.docx zusammen", "Mietvertrag.docx"),
        ("Résumez le document bail.txt", "bail.txt"),
        ("总结 lease.pdf 的内容", "lease.pdf"),
        ("Summarise the tenant's duties in lease.pdf", None),
        ("Compare a.pdf and b.pdf", None),
        ("Who signed lease.pdf?", None),
    ],
)
def test_a_document_is_read_as_a_whole_only_where_nothing_else_is_asked_for(question: str, name: str | None) -> None:
    assert document_asked_for(question) == name


def test_a_long_message_brings_its_own_text() -> None:
    assert length_asked_for("Summarise this: " + "We met. " * 60) == "short"

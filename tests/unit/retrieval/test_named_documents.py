import pytest

from retrieval.named_documents import named_documents, without_name

PATHS = [
    "/reports/3M_2018_10K.pdf",
    "/reports/AMAZON_2019_10K.pdf",
    "/reports/AMAZON_2020_10K.pdf",
    "/reports/BestBuy-2019.pdf",
    "/reports/best practices 2019.md",
    "/reports/us-031.pdf",
    "/leases/Müller/notice.txt",
    "/leases/Meyer/notice.txt",
    "/leases/Meyer/rent.txt",
]


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did 3M earn?", PATHS[:1]),
        ("What did Amazon's shops earn in 2020?", PATHS[2:3]),
        ("What did Amazon earn?", PATHS[1:3]),
        ("How much did Amazon earn in FY2019, and how much 3M?", PATHS[:2]),
        ("What does Best Buy sell?", PATHS[3:4]),  # not best practices
        ("How long is the notice in Müller's lease?", PATHS[6:7]),
        ("How long is the notice in Mu\u0308ller's lease?", PATHS[6:7]),
        ("what is meyer's notice?", PATHS[7:8]),
        ("What is the Notice of Meyer?", PATHS[7:8]),
        ("How long is the notice?", []),  # no name
        ("What happened in the US in 2019?", []),
        ("What is in the PDF?", []),  # most are
        ("What do the Reports of the Leases say?", PATHS[6:]),
        ("Who?", []),
    ],
)
def test_a_question_names_the_documents_with_its_rarest_words(question: str, named: list[str]) -> None:
    paths = [one.encode() for one in PATHS]
    assert named_documents(paths, question) == {one.encode() for one in named}
    assert named_documents([], question) == set()


def test_bytes_that_are_no_text_are_in_a_path() -> None:
    assert named_documents([b"/a/\xff Acme.txt", b"/a/b.txt"], "What does Acme sell?") == {b"/a/\xff Acme.txt"}


def test_what_names_a_file_is_taken_out_of_the_question() -> None:
    assert without_name("What are Best Buy's best sales?", PATHS[3]) == "What are  's  sales?"
    assert without_name("What is Müller's rent?", PATHS[6]) == "What is 's rent?"
    assert without_name("What are 3M's net sales?", PATHS[1]) == "What are 3M's net sales?"

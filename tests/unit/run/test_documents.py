from run.documents import MOST_PASSAGES, relevant_documents, without_copies
from tests.scripted import passage, state, verdict

PRICE = "The yearly rent of a plot in the Fenwick Lane allotments is {} pounds and is due on the first of {} each year."


def sources(*passages: tuple[str, str], irrelevant: str = "") -> list[list[str]]:
    found = [passage(text, source=source) for text, source in passages]
    verdicts = {one["id"]: verdict("irrelevant" if one["id"] == irrelevant else "relevant") for one in found}
    documents = without_copies(relevant_documents(state(found=found, verdicts=verdicts)))
    return [[one["source"] for one in group] for group in documents]


def test_passages_of_one_document_are_one_and_those_without_a_source_are_documents_of_their_own() -> None:
    assert sources(("one", "a"), ("two", "b"), ("three", "a")) == [["a", "a"], ["b"]]
    assert sources(("one", ""), ("two", "")) == [[""], [""]]


def test_near_duplicates_count_once_unless_a_figure_differs() -> None:
    copy, changed = PRICE.format(85, "April"), PRICE.format(95, "March")
    assert sources((PRICE.format(85, "March"), "a"), (copy, "b"), (changed, "c")) == [["a"], ["c"]]


def test_what_is_irrelevant_or_was_not_graded_does_not_count() -> None:
    assert sources(("one", "a"), ("two", "b"), irrelevant="two") == [["a"]]
    assert relevant_documents(state(found=[passage("one")])) == []


def test_the_most_relevant_passage_of_a_document_comes_first() -> None:
    found = [passage("one"), passage("two")]
    verdicts = {"one": verdict("relevant", {"relevant": 0.6, "irrelevant": 0.4}), "two": verdict("relevant")}
    assert [one["id"] for one in relevant_documents(state(found=found, verdicts=verdicts))[0]] == ["two", "one"]


def test_no_more_passages_are_compared_than_are_read_in_a_moment() -> None:
    found = [passage(f"Plot {number}.", source=str(number)) for number in range(3 * MOST_PASSAGES)]
    verdicts = {one["id"]: verdict("relevant") for one in found}
    assert len(relevant_documents(state(found=found, verdicts=verdicts))) == MOST_PASSAGES

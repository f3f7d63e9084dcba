from evaluation.measures.joined_rows import agreement_of, labelled_pairs
from evaluation.records import Example, Record
from evaluation.reporting.analysis import Group, analysis, judge_lines
from tests.unit.evaluation.sample_records import answered, compared, seen


def unanswerable(number: int) -> Example:
    return Example(id=f"u{number}", question="Who owned the mill in 1790?", route="retrieve", answerable=False)


def answerable(number: int) -> Example:
    question = "Why is the sky so very blue at noon?"
    return Example(id=f"a{number}", question=question, route="retrieve", answerable=True, references=("air",))


EXAMPLES = [*(unanswerable(n) for n in range(6)), *(answerable(n) for n in range(6))]


def records() -> list[Record]:
    """Self-rag abstains from five of six unanswerable questions and from one answerable one that plain gets right."""
    graded = [seen("x", relevant=True), seen("y", relevant=False)]
    made = []
    for n in range(6):
        answer, outcome = ("Air.", "grounded") if n else ("", "abstained")
        made += [
            answered("self-rag", "" if n < 5 else "A miller.", example=f"u{n}", queries=["a", "b"]),
            answered("plain", "A miller.", example=f"u{n}"),
            answered("self-rag", answer, example=f"a{n}", seen=graded, outcome=outcome),
            answered("plain", "Air.", example=f"a{n}"),
        ]
    return made


def group(found: list[Group], what: str) -> Group:
    return next(one for one in found if what in one.what)


def test_counts_are_by_kind_and_of_kinds_with_few_questions_no_sentence_is_made() -> None:
    found = analysis(EXAMPLES, records())
    assert (found.overall.both, found.overall.ours, found.overall.other, found.overall.neither) == (5, 5, 1, 1)
    missed = group(found.groups, "unanswerable")
    assert missed == Group("expected", "unanswerable questions", 6, 0, 5, 0, 1)
    assert group(found.groups, "at most 7 words").questions == 6
    assert group(found.groups, "8 to 12 words").questions == 6
    assert group(found.groups, "with none of").questions == 6
    assert group(found.groups, "with one of").other == 1
    assert group(found.groups, "more than once").ours == 5
    assert group(found.groups, "ended as grounded").questions == 5
    for kind in ("expected", "length", "relevant", "searches", "outcome"):
        assert sum(one.questions for one in found.groups if one.kind == kind) == 12
    assert len(analysis(EXAMPLES[:4], records()).lines) == 1


def test_a_win_or_a_loss_is_one_whose_interval_holds_no_even_share() -> None:
    examples = [*(unanswerable(n) for n in range(8)), *(answerable(n) for n in range(8))]
    said = [("u", "self-rag", ""), ("u", "plain", "A miller."), ("a", "self-rag", ""), ("a", "plain", "Air.")]
    made = [answered(system, text, example=f"{kind}{n}") for n in range(8) for kind, system, text in said]
    lines = analysis(examples, made).lines
    assert (
        "self-rag wins on unanswerable questions (8): self-rag alone is right on 8, plain alone on 0, a share of 1.00 "
        "[0.63, 1.00] for self-rag." in lines
    )
    assert (
        "self-rag loses on answerable questions (8): self-rag alone is right on 0, plain alone on 8, a share of 0.00 "
        "[0.00, 0.37] for self-rag." in lines
    )
    won, lost = (next(i for i, line in enumerate(lines) if word in line) for word in (" wins ", " loses "))
    assert won < lost


def test_the_judges_verdicts_and_its_agreement_are_said() -> None:
    pairs = [
        compared("u0", "self-rag", "plain", "self-rag", "self-rag"),  # right
        compared("u1", "self-rag", "plain", "plain", "plain"),  # wrong
        compared("u2", "self-rag", "plain", "self-rag", "plain"),
        compared("u4", "self-rag", "plain", "tie", "tie"),
        compared("u5", "self-rag", "plain", None, None, failure="refused"),
        compared("a0", "self-rag", "plain", "self-rag", None),
        compared("a2", "self-rag", "plain"),
        compared("a1", "self-rag", "plain", "plain", "plain"),  # both are right: no label
    ]
    assert judge_lines(pairs, labelled_pairs(EXAMPLES, records(), pairs)) == [
        "Of 7 pairs of answers the judge prefers self-rag on 1 and plain on 2, a share of 0.33 [0.01, 0.91] for "
        "self-rag, and sees a tie on 1.",
        "1 of 8 were identical and not asked about: no preference.",
        "1 of 8 got another preference when the order of the answers was changed: no preference.",
        "1 of 8 got a reply that is not in the form asked for: no preference.",
        "1 of 8 got no reply, because the model failed or refused: no preference.",
        "Where exactly one of the two is right (5), the judge decided 2 and agreed with the labels on 1.",
    ]
    assert agreement_of(EXAMPLES, records(), pairs) == 0.5
    assert agreement_of(EXAMPLES, records(), pairs[2:]) is None


def test_only_what_both_were_asked_and_neither_failed_counts() -> None:
    some = [answered("self-rag", "Air.", example="a1"), answered("plain", "Air.", example="a1", error="gone")]
    found = analysis(EXAMPLES, some)
    assert (found.overall.questions, found.groups, found.lines) == (0, [], [])


def test_questions_without_labels_are_counted_and_not_scored() -> None:
    example = Example(id="e1", question="Say hello.", route="direct")
    found = analysis([example], [answered("self-rag", "Hello.", seen=[]), answered("plain", "Hi.")])
    direct = group(found.groups, "need no documents")
    assert (direct.questions, direct.labelled) == (1, 0)
    assert {one.kind for one in found.groups} == {"expected", "length", "outcome"}

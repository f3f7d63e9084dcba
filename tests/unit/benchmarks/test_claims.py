from benchmarks.claims import of_flagging


def test_precision_is_of_the_flagged_and_recall_of_those_that_are_not_true() -> None:
    kinds = ["true", "true", "changed", "changed", "unstated"]
    labels = ["fully supported", "no support", "contradicted", "partially supported", "no support"]
    precision, recall = of_flagging(kinds, labels)
    assert (precision.value, precision.n) == (2 / 3, 3)
    assert (recall.value, recall.n) == (2 / 3, 3)

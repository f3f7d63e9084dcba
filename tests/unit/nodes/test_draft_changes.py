from nodes.draft_changes import draft_changes


def test_a_redraft_is_told_by_what_it_replaced_left_out_and_added() -> None:
    before = "The museum opened in 1912 and is large. It has four lanes."
    after = "The museum opened in 1911 and is large. Why not?"
    assert draft_changes(before, after) == [
        {"removed": "1912", "added": "1911"},
        {"removed": "It has four lanes.", "added": "Why not?"},
    ]
    assert draft_changes("a b", "a") == [{"removed": "b", "added": ""}]
    assert draft_changes("a", "a") == []

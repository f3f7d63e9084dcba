"""What must hold of a run, found out anew from what was recorded; nothing here asks the graph's own judgement."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from app.result import result_of
from prompts.delimiters import as_data
from tests.integration.graph.oracle import RELEVANCE, deserved, is_supported, is_useful, labels_of, rank_of, score
from tests.integration.graph.played import Call, Played

WRITES = ("draft", "mend", "improve", "query", "direct")
VERDICTS = ("retrieve", "relevance", "support", "usefulness")
LIMITS = {"limit_calls", "limit_tokens", "limit_seconds"}
MARK = re.compile(r" \[(?:only partly supported by|not supported by|not checked against) the documents\]")
NO_ANSWER = ("No answer to “", "The documents do not answer “")


def visits(played: Played) -> Counter[str]:
    return Counter(node for node, _ in played.updates)


def drafts_written(played: Played) -> list[str]:
    """The text of every draft that any node wrote."""
    return [draft["text"] for _, update in played.updates for draft in update.get("drafts", [])]


def holds_that_it_ends_and_each_loop_keeps_to_its_bound(played: Played) -> None:
    limits, seen = played.world.context.effective_limits, visits(played)
    nodes = [node for node, _ in played.updates]
    assert nodes[0] == "decide"
    assert nodes[-1] == "finish"
    assert (seen["decide"], seen["finish"]) == (1, 1)
    assert seen["direct_generate"] <= 1
    assert seen["rewrite_query"] <= limits.rewrites
    assert seen["retrieve"] <= seen["rewrite_query"] + 1
    assert seen["generate"] <= seen["retrieve"] * limits.drafts
    assert max(seen["hallucination_check"], seen["answer_check"], seen["select"]) <= seen["generate"] + 1
    assert sorted(step["node"] for step in played.final["path"]) == sorted(nodes)


def holds_that_no_limit_is_crossed(played: Played) -> None:
    limits = played.world.context.effective_limits
    assert len(played.calls) <= limits.model_calls
    # What no server reports is estimated at three bytes a token.
    known = [call for call in played.calls if played.world.bytes_a_token >= 3 or (call.served and call.reply.reported)]
    assert sum(call.read + call.written for call in known) <= limits.tokens
    usage = played.final["usage"]
    assert usage["model_calls"] <= limits.model_calls
    assert usage["input_tokens"] + usage["output_tokens"] <= limits.tokens


def holds_that_usage_is_what_was_asked(played: Played) -> None:
    """Each call is counted; tokens as reported, and not as less where a call was given up or not reported."""
    usage, calls = played.final["usage"], played.calls
    exact = [call for call in calls if call.served and call.reply.reported]
    given_up = bool(played.final["stops"]) or any(call.reply.seconds for call in calls)
    # One that is given up just before it is made counts, as it might have been.
    assert len(calls) <= usage["model_calls"] <= len(calls) + 8 * given_up
    if len(exact) < len(calls):
        assert usage["estimated"]
    elif not given_up:
        assert not usage["estimated"]
    if not usage["estimated"]:
        read, written = sum(call.read for call in calls), sum(call.written for call in calls)
        assert (usage["input_tokens"], usage["output_tokens"]) == (read, written)
    elif played.world.bytes_a_token >= 3:  # a call that is given up is estimated at that
        assert usage["input_tokens"] >= sum(call.read for call in exact)
        assert usage["output_tokens"] >= sum(call.written for call in exact)


def holds_that_the_question_is_untouched(played: Played) -> None:
    question, queries = played.world.question, played.final["queries"]
    assert played.final["question"] == question
    assert queries[0] == question.strip()
    for call in played.calls:
        assert any(as_data(question) in text for text in call.messages), call.kind


def holds_that_nothing_is_searched_judged_or_written_twice(played: Played) -> None:
    queries = played.final["queries"]
    assert len({query.casefold() for query in queries}) == len(queries)
    assert len(set(played.searches)) == len(played.searches)
    assert set(played.searches) <= set(queries)
    given = Counter(call.messages for call in played.calls if call.kind in VERDICTS and is_verdict(call, played))
    assert [text[-1] for text, count in given.items() if count > 1] == []
    written = Counter(call.messages for call in played.calls if call.kind in WRITES and says_something(call))
    assert [text[-1] for text, count in written.items() if count > 1] == []


def says_something(call: Call) -> bool:
    """Whether the reply is a text, and not a thought that was cut off."""
    return call.served and bool(call.reply.text.strip()) and "<think" not in call.reply.text


def is_verdict(call: Call, played: Played) -> bool:
    """Whether a critic that is asked so surely takes the reply as a label."""
    if not call.served or call.manner != "logprobs" or played.world.logprobs != "served" or call.reply.top is None:
        return False
    return call.reply.text not in ("", "perhaps")


def holds_that_no_draft_is_taken_twice(played: Played) -> None:
    """A redraft that says from the same passages what any earlier draft said is no new one."""
    said: set[tuple[Any, ...]] = set()
    for node, update in played.updates:
        if node == "generate":
            new = {
                (draft["text"], *sorted(one["id"] for one in draft["passages"])) for draft in update.get("drafts", [])
            }
            assert not new & said
            said |= new


def holds_that_each_best_is_the_best(played: Played) -> None:
    """`select` keeps the candidate of the highest rank and score among all rounds; scored here anew."""
    context = played.world.context
    seen: list[Any] = []
    drafts: list[Any] = []
    claims: list[Any] = []
    uses: list[Any] = []
    for node, update in played.updates:
        if "drafts" in update:
            drafts, claims, uses = update["drafts"], [], []
        claims, uses = update.get("claims", claims), update.get("uses", uses)
        if node != "select":
            continue
        for index, draft in enumerate(drafts):
            candidate = {
                "draft": draft,
                "claims": claims[index] if index < len(claims) else [],
                "use": uses[index] if index < len(uses) else None,
            }
            seen.append((rank_of(candidate, context), candidate))
        if not seen:
            assert update["best"] is None
            continue
        best = update["best"]
        highest = max(rank for rank, _ in seen)
        first = next(candidate for rank, candidate in seen if rank == highest)
        assert rank_of(best, context) == highest
        assert best["draft"]["text"] == first["draft"]["text"]
        assert best["score"] == pytest.approx(highest[1])
        assert update["accepted"] == (is_supported(best) and is_useful(best) and not best["draft"]["declined"])


def holds_that_the_outcome_follows_from_the_verdicts(played: Played) -> None:
    """The design's table, read from the best candidate and the first stop."""
    final, context = played.final, played.world.context
    outcome, reason = final["outcome"], final["stop_reason"]
    stopped = [step["decided"]["stop"] for step in final["path"] if "stop" in step["decided"]]
    stop = stopped[0] if stopped else None
    assert (reason in LIMITS | {"model_failed"}) == (stop is not None)
    assert stop is None or reason in stopped
    expected = deserved(final, context)
    assert (outcome, reason) == (expected[0], reason if stop else expected[1])


def holds_that_a_stop_is_true(played: Played) -> None:
    """The model is said to have failed only if it did, and a limit to be reached only near it."""
    limits = played.world.context.effective_limits
    queries = [call.reply.text.strip("“” \n") for call in played.calls if call.kind == "query"]
    failed = not all(map(says_something, played.calls)) or "" in queries or None in played.world.found
    for stop in played.final["stops"]:
        assert (stop["reason"] == "model_failed") == bool(stop["failure"])
        if stop["reason"] == "model_failed":
            assert failed
        if stop["reason"] == "limit_calls":  # what is reserved, and what was given up side by side
            assert len(played.calls) >= limits.model_calls - 8
        if stop["reason"] == "limit_seconds":
            assert any(call.reply.seconds for call in played.calls) or limits.seconds < 1


def holds_that_every_quote_is_verbatim_from_what_the_generator_read(played: Played) -> None:
    best = played.final["best"]
    if best is None:
        return
    read = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    prompts = [call.messages for call in played.calls if call.kind in ("draft", "mend", "improve") and call.served]
    shown = [text for messages in prompts for text in messages]
    for passage in read.values():
        assert any(as_data(passage) in text for text in shown)
    for claim in best["claims"]:
        assert claim["text"] in best["draft"]["text"]
        quote = claim["quote"]
        if quote is not None:
            assert 0 <= quote["start"] < quote["end"] <= len(read[quote["passage"]])
    for citation in played.final["citations"]:
        assert citation["passage"] in read.values()
        assert citation["passage"][citation["start"] : citation["end"]] == citation["quote"] != ""


def holds_that_only_claims_that_hold_are_cited(played: Played) -> None:
    final, best = played.final, played.final["best"]
    citations = final["citations"]
    assert [one["id"] for one in citations] == list(range(1, len(citations) + 1))
    if final["outcome"] not in ("grounded", "partially_grounded"):
        assert citations == []
        return
    assert best is not None
    texts = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    carried = [
        (texts[quote["passage"]], quote["start"], quote["end"])
        for claim in best["claims"]
        if claim["verdict"]["label"] in ("fully supported", "partially supported") and (quote := claim["quote"])
    ]
    assert {(one["passage"], one["start"], one["end"]) for one in citations} == set(carried)
    assert citations


def holds_that_no_claim_holds_unasked(played: Played) -> None:
    """Whatever is called supported was put to the critic, with all passages that its draft was written from."""
    best = played.final["best"]
    asked = [call for call in played.calls if call.kind == "support" and call.served]
    for claim in best["claims"] if best else []:
        if claim["verdict"]["label"] in ("fully supported", "partially supported"):
            assert claim["quote"] is not None
            last = [call.messages[-1] for call in asked if as_data(claim["text"]) in call.messages[-1]]
            assert any(
                all(as_data(passage["text"]) in message for passage in best["draft"]["passages"])  # type: ignore[index]
                for message in last
            )


def holds_that_an_answer_is_the_draft_and_its_marks(played: Played) -> None:
    """An answer is a draft with what does not hold marked; anything else is a sentence that says so."""
    final, best = played.final, played.final["best"]
    answer = final["answer"]
    if final["outcome"] in ("grounded", "partially_grounded", "direct"):
        assert best is not None
        draft = best["draft"]["text"]
        assert MARK.sub("", answer) == MARK.sub("", draft)
        below = [label for label in labels_of(best) if label != "fully supported"]
        assert len(MARK.findall(answer)) == len(MARK.findall(draft)) + len(below)
        return
    assert answer.startswith(NO_ANSWER)
    assert answer.endswith(".")
    said = " ".join(played.world.question.split())
    for text in drafts_written(played):
        assert len(text) < 12 or text in said or text not in answer


def holds_that_what_is_relevant_was_graded_so(played: Played) -> None:
    final, levels = played.final, played.world.context.effective_thresholds
    assert len(final["passages"]) <= played.world.context.k
    searches = [index for index, step in enumerate(final["path"]) if step["node"] == "retrieve"]
    graded = bool(searches) and any("grades" in step["decided"] for step in final["path"][searches[-1] :])
    for one in final["passages"]:
        verdict = final["verdicts"].get(one["id"])
        if one["id"] in final["relevant"]:
            assert verdict
            assert verdict["label"] == "relevant"
            assert score(verdict, RELEVANCE) >= levels.relevant
        elif verdict and verdict["probabilities"] and graded:
            assert score(verdict, RELEVANCE) < levels.relevant
    for _, update in played.updates:
        for draft in update.get("drafts", []):
            assert {one["id"] for one in draft["passages"]} <= set(final["verdicts"])


def holds_that_the_mode_is_kept(played: Played) -> None:
    mode, kinds = played.world.context.mode, {call.kind for call in played.calls}
    if mode == "never":
        assert not played.searches
        assert kinds <= {"direct", "usefulness", "reason"}
    if mode != "adaptive":
        assert "retrieve" not in kinds
    if played.final["outcome"] == "direct":
        assert mode != "always" or played.world.context.fallback == "direct"


def holds_that_all_can_be_written_down(played: Played) -> None:
    final = played.final
    assert json.loads(json.dumps(final, allow_nan=False)) == final
    result = result_of(final)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert (result["answer"], result["outcome"]) == (final["answer"], final["outcome"])
    answer = final["answer"]
    assert answer.encode().decode() == answer

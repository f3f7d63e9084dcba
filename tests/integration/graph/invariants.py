"""What must hold of a run, found out anew from what was recorded; nothing here asks the graph's own judgement.

`violations` needs the final state alone, whatever the models said or did; the functions that begin with ``holds_``
need all that was recorded of a run in a drawn world.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from app.results.result import result_of
from core.text import is_blank, one_line
from core.types import Candidate
from core.wording import WORDINGS
from grounding.follow_ups import join_follow_up, leaned_on
from grounding.lengths import subject_asked_for
from prompts.delimiters import as_data
from run.context import Context
from run.state import SelfRAGState
from tests.integration.graph.oracle import RELEVANCE, deserved, is_supported, is_useful, rank_of, score
from tests.scripted import IN_WORDS

if TYPE_CHECKING:
    from tests.integration.graph.played import Call, Played

SPENT = ("model_calls", "input_tokens", "cached_input_tokens", "output_tokens")
WRITES = ("draft", "mend", "improve", "query", "direct")
VERDICTS = ("retrieve", "relevance", "support", "usefulness")
SUPPORTED = frozenset({"fully supported", "partially supported"})
MARKS = {
    "partially supported": "[only partly supported by the documents]",
    "no support": "[not supported by the documents]",
    "unknown": "[not checked against the documents]",
}
MARK = re.compile("|".join(re.escape(f" {mark}") for mark in MARKS.values()))
QUOTED = re.compile("^.*?: “|…?”$")
DISAGREE = "\n\nThe documents disagree:\n"
NO_ANSWER = ("No answer to “", "The documents do not answer “")


def violations(final: SelfRAGState, question: str, context: Context) -> list[str]:
    """Each thing that does not hold of a finished question, in a sentence."""
    return [
        *_of_the_run(final, question, context),
        *_of_the_outcome(final, context),
        *_of_the_answer(final, context),
        *_of_the_candidates(final),
        *(_of_the_reasons(final) if context.explain else ()),
    ]


def _of_the_run(final: SelfRAGState, question: str, context: Context) -> Iterator[str]:
    limits, usage, nodes = context.effective_limits, final["usage"], [step["node"] for step in final["path"]]
    tokens = usage["input_tokens"] + usage["output_tokens"]
    steps = len(nodes) - nodes.count("hallucination_check")  # which runs beside answer_check
    searched = final["standalone"] if final["rewritten"] else question
    searched = subject_asked_for(searched) if final["length"] == "long" else searched
    if final["question"] != question or final["queries"][0] != searched.strip():
        yield "the question was rewritten"
    if usage["model_calls"] > limits.model_calls:
        yield f"{usage['model_calls']} calls were made of {limits.model_calls}"
    if tokens > limits.tokens:
        yield f"{tokens} tokens were spent of {limits.tokens}"
    if min(usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"]) < 0:
        yield f"usage is negative: {usage}"
    steps_spent: list[dict[str, Any]] = [{**step} for step in final["path"]]
    if any(sum(one.get(name, 0) for one in steps_spent) != {**usage}[name] for name in SPENT):
        yield f"the steps did not spend what the run did: {usage}"
    if len(final["queries"]) > limits.rewrites + 1 or steps > limits.steps:
        yield f"a loop was not bounded: {len(final['queries'])} queries, {steps} steps"
    if len({query.casefold() for query in final["queries"]}) < len(final["queries"]):
        yield "a query was searched for twice"
    if nodes[-1:] != ["finish"] or nodes.count("finish") != 1:
        yield f"the run did not finish once: {nodes}"
    if not _is_serialisable(final):
        yield "the state or the result is not serialisable"


def _is_serialisable(final: SelfRAGState) -> bool:
    try:
        result = result_of(final).model_dump(mode="json")
        same = [json.loads(json.dumps(one, allow_nan=False)) == one for one in (final, result)]
        final["answer"].encode()
    except (TypeError, ValueError):
        return False
    return all(same) and (result["answer"], result["outcome"]) == (final["answer"], final["outcome"])


def _of_the_outcome(final: SelfRAGState, context: Context) -> Iterator[str]:
    outcome, reason = deserved(final, context)
    reason = final["stops"][0]["reason"] if final["stops"] else reason
    if final["outcome"] != outcome:
        yield f"{final['outcome']} is claimed where the verdicts give {outcome}"
    elif final["stop_reason"] != reason:
        yield f"{final['stop_reason']} is given for {outcome} where it is {reason}"


def _of_the_answer(final: SelfRAGState, context: Context) -> Iterator[str]:
    best, answer = final["best"], final["answer"]
    if final["outcome"] in ("abstained", "stopped"):
        if final["citations"]:
            yield "what is no answer cites"
        said, *notes = answer.split("\n\n")
        if best and len(best["draft"]["text"]) > 20 and best["draft"]["text"] in said.replace(final["question"], ""):
            yield "a draft stands in what is no answer"
        read = [" ".join(one_line(one["text"]).split()) for one in final["found"]]
        if not all(any(QUOTED.sub("", note) in text for text in read) for note in notes):
            yield "what comes nearest to an answer is from no passage"
    if final["outcome"] == "direct" and (final["citations"] or (best and best["claims"])):
        yield "an answer without documents cites"
    if best and final["outcome"] in ("grounded", "partially_grounded"):
        yield from _of_the_claims(final, best)
        yield from _of_the_segments(final, best, context) if final["segments"] else ()


def _of_the_candidates(final: SelfRAGState) -> Iterator[str]:
    best, candidates, found = final["best"], final["candidates"], [one["id"] for one in final["found"]]
    answered = final["outcome"] in ("grounded", "partially_grounded", "direct")
    chosen = [one["text"] for one in candidates if one["chosen"]]
    taken = [one["drafted"] for one in final["segments"]] or ([best["draft"]["text"]] if best else [])
    if sorted(chosen) != (sorted(taken) if answered else []):
        yield f"chosen are {chosen}"
    if len({(one["text"], *one["passages"]) for one in candidates}) < len(candidates):
        yield "a candidate is listed twice"
    if len(set(found)) < len(found) or not {one for each in candidates for one in each["passages"]} <= set(found):
        yield "the passages found are not each there once"
    if not all(one["reason"] for one in candidates):
        yield "a candidate has no reason"


def _of_the_reasons(final: SelfRAGState) -> Iterator[str]:
    """Each verdict in the state and on the path, and each route that a mode chose."""
    verdicts = [final["decision"], *final["verdicts"].values(), *final["uses"]]
    verdicts += [claim["verdict"] for claims in final["claims"] for claim in claims]
    for step in final["path"]:
        decided = step["decided"]
        verdicts += [decided.get("verdict")]
        verdicts += decided.get("usefulness", []) if step["node"] == "answer_check" else []
        verdicts += [one["verdict"] for one in (*decided.get("grades", []), *decided.get("claims", []))]
        if "mode" in decided and not decided.get("reason"):
            yield "the route of a mode has no reason"
    for verdict in verdicts:
        if verdict and not verdict["reason"]:
            yield f"a verdict has no reason: {verdict}"
        if verdict and verdict.keys() != {"label", "probabilities", "reason"}:
            yield f"a verdict has other fields: {verdict}"


def _of_the_segments(final: SelfRAGState, best: Candidate, context: Context) -> Iterator[str]:
    """A long answer says what holds in full, each thing once but in a table, in no more segments than it may have."""
    said = [claim["text"] for claim in best["claims"]]
    if len(said) > len(set(said)) and not final["compared"]:
        yield f"something is said twice: {said}"
    text, segments = best["draft"]["text"], [one["text"] for one in final["segments"]]
    below = [line for line in text.split("\n") if line and not line.endswith(":")]  # without headings
    headed = len(below) < len(list(filter(None, text.split("\n"))))
    same = sorted(below) == sorted(line for one in segments for line in one.split("\n") if line)
    if text not in ("\n\n".join(segments), "\n".join(segments)) and not (headed and same) and not final["compared"]:
        yield "the answer is not its segments"
    if len(final["segments"]) > (context.effective_limits.segments or 8):
        yield f"there are {len(final['segments'])} segments"
    if set(said) & set(final["left_out"]):
        yield "what was left out is said"


def _of_the_claims(final: SelfRAGState, best: Candidate) -> Iterator[str]:
    texts = {passage["id"]: passage["text"] for passage in best["draft"]["passages"]}
    labels = [claim["verdict"]["label"] for claim in best["claims"]]
    answer = answer_alone(final)
    for label, mark in MARKS.items():
        marked = answer.count(mark) - best["draft"]["text"].count(mark)
        if marked != labels.count(label):
            yield f"{labels.count(label)} claims are {label} and {marked} are marked so"
    supporting = set()
    for claim in best["claims"]:
        if claim["verdict"]["label"] in SUPPORTED:
            if claim["quote"] is None:
                yield f"a claim holds without a quote: {claim['text']}"
            else:
                for quote in [claim["quote"], *([claim["second_quote"]] if "second_quote" in claim else [])]:
                    supporting.add((texts.get(quote["passage"], ""), quote["start"], quote["end"]))
    known = {passage["id"]: passage["text"] for passage in final["found"]}
    for conflict in final["conflicts"]:
        if not conflict["citations"] or conflict["answer"][:60] not in final["answer"]:
            yield f"an answer that differs is not shown with its source: {conflict}"
    differing = [one for group in final["differing"] for one in group]
    if any(one["verdict"]["label"] not in SUPPORTED for one in differing):
        yield "an answer that differs is not supported"
    if len(final["conflicts"]) == 1 or len(final["conflicts"]) != len(final["differing"]):
        yield f"{len(final['conflicts'])} answers are shown to differ, of {len(final['differing'])}"
    supporting |= {(known[one["quote"]["passage"]], one["quote"]["start"], one["quote"]["end"]) for one in differing}
    cited = {(one["passage"], one["start"], one["end"]) for one in final["citations"]}
    if cited - supporting:
        yield f"what is cited carries no claim: {sorted(cited - supporting)}"
    if supporting - cited:
        yield f"the quote of a claim that holds is not cited: {sorted(supporting - cited)}"
    for one in final["citations"]:
        verbatim = one["passage"][one["start"] : one["end"]] == one["quote"] != ""
        if not verbatim or one["passage"] not in known.values():
            yield f"a quote is not verbatim: {one['quote']}"
    if [one["id"] for one in final["citations"]] != list(range(1, len(final["citations"]) + 1)):
        yield "citations are not numbered"


def answer_alone(final: SelfRAGState) -> str:
    """The answer without what documents say that differs, and what a long one leaves out."""
    answer = final["answer"].rpartition(DISAGREE)[0] if final["conflicts"] else final["answer"]
    for wording in WORDINGS.values() if final["segments"] and final["left_out"] else ():
        answer = answer.partition(f"\n\n{wording.left_out.partition('{')[0]}")[0]
    return answer


def holds_that_the_final_state_violates_nothing(played: Played) -> None:
    assert violations(played.final, played.world.question, played.world.context) == []


def holds_that_it_ends_and_each_loop_keeps_to_its_bound(played: Played) -> None:
    limits, nodes = played.world.context.effective_limits, [node for node, _ in played.updates]
    seen = Counter(nodes)
    assert nodes[:2].index("decide") == seen["contextualize"] == bool(played.world.conversation)
    assert seen["decide"] == 1
    assert seen["direct_generate"] <= 1
    assert seen["rewrite_query"] <= limits.rewrites
    assert seen["retrieve"] <= seen["rewrite_query"] + 1
    segments = limits.segments if played.final["length"] == "long" else None
    assert seen["generate"] <= seen["retrieve"] * (segments + 1 if segments else limits.drafts)
    assert max(seen["hallucination_check"], seen["answer_check"], seen["select"]) <= seen["generate"] + 1
    assert sorted(step["node"] for step in played.final["path"]) == sorted(nodes)


def holds_that_no_limit_is_crossed(played: Played) -> None:
    limits = played.world.context.effective_limits
    assert len(played.calls) <= limits.model_calls
    # What no server reports is estimated at three bytes a token.
    known = [call for call in played.calls if played.world.bytes_a_token >= 3 or (call.served and call.reply.reported)]
    assert sum(call.read + call.written for call in known) <= limits.tokens


def holds_that_usage_is_what_was_asked(played: Played) -> None:
    """Each call is counted; tokens as reported, and not as less where a call was given up or not reported."""
    usage, calls = played.final["usage"], played.calls
    exact = [call for call in calls if call.served and call.reply.reported]
    given_up = any("stop" in step["decided"] for step in played.final["path"]) or any(
        call.reply.seconds for call in calls
    )
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


def holds_that_every_prompt_has_the_question(played: Played) -> None:
    """As it is to be understood, but for the one that asks how that is, and that on what stands beside an answer."""
    for call in played.calls:
        asked = played.world.question if call.kind == "standalone" else played.final["standalone"]
        alone = call.kind in ("support", "reason") and any(
            "\nQuestion: Is it true that " in one for one in call.messages
        )
        assert alone or any(as_data(asked) in text for text in call.messages), call.kind


def holds_that_a_question_is_changed_only_by_what_it_leans_on(played: Played) -> None:
    final, world = played.final, played.world
    if not world.conversation:
        assert (final["standalone"], final["rewritten"]) == (world.question, False)
    elif world.given is not None:
        assert (final["standalone"], final["rewritten"]) == (world.given, True)
    elif not final["rewritten"]:
        assert _words(final["standalone"]).endswith(_words(world.question))
    assert (final["conversation"], final["given_standalone"]) == ([], None)


def _words(text: str) -> str:
    return " ".join(one_line(text).split())


def holds_that_earlier_answers_are_evidence_for_nothing(played: Played) -> None:
    """They are shown to the model that writes the question anew, and to no other: what is not found is not read."""
    found = " ".join(document.page_content for one in played.world.found for document in one or ())
    written = " ".join(call.reply.text for call in played.calls)
    for turn in played.world.conversation:
        if turn["answer"] not in f"{found} {written} {played.world.question}":
            calls = [call for call in played.calls if call.kind != "standalone"]
            assert not any(as_data(turn["answer"]) in text for call in calls for text in call.messages)


def holds_that_nothing_is_searched_judged_or_written_twice(played: Played) -> None:
    assert len(set(played.searches)) == len(played.searches)
    before = leaned_on(list(played.world.conversation))
    both = {join_follow_up(before, played.world.question)} if before else set()
    assert set(played.searches) <= set(played.final["queries"]) | both
    given = Counter(call.messages for call in played.calls if call.kind in VERDICTS and is_verdict(call, played))
    assert [text[-1] for text, count in given.items() if count > 1] == []
    written = Counter(call.messages for call in played.calls if call.kind in WRITES and says_something(call))
    assert [text[-1] for text, count in written.items() if count > 1] == []


def says_something(call: Call) -> bool:
    """Whether the reply is a text, and not a thought that was cut off."""
    return call.served and not is_blank(call.reply.text) and "<think" not in call.reply.text


def is_verdict(call: Call, played: Played) -> bool:
    """Whether a critic that is asked so surely takes the reply as a label."""
    if not call.served or call.manner != "logprobs" or played.world.logprobs != "served" or call.reply.top is None:
        return False
    return call.reply.text not in ("", "perhaps")


def holds_that_each_best_is_the_best(played: Played) -> None:
    """`select` keeps the candidate of the highest rank and score among all rounds; scored here anew."""
    if played.final["segments"]:
        return
    context = played.world.context
    seen: list[Any] = []
    drafts: list[Any] = []
    claims: list[Any] = []
    uses: list[Any] = []
    for node, update in played.updates:
        if node != "select":
            if "drafts" in update:
                drafts, claims, uses = update["drafts"], [], []
            claims, uses = update.get("claims", claims), update.get("uses", uses)
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
        assert math.isclose(best["score"], highest[1], rel_tol=1e-6, abs_tol=1e-12)
        assert update["accepted"] == (is_supported(best) and is_useful(best) and not best["draft"]["declined"])
        drafts = update.get("drafts", drafts)


def holds_that_a_stop_is_true(played: Played) -> None:
    """The model is said to have failed only if it did, and a limit to be reached only near it."""
    limits, stops = played.world.context.effective_limits, played.final["stops"]
    steps = [step for step in played.final["path"] if step["node"] not in ("contextualize", "compare_answers")]
    decided = [step["decided"]["stop"] for step in steps if "stop" in step["decided"]]
    assert bool(decided) == bool(stops)
    assert not stops or stops[0]["reason"] in decided
    queries = [call.reply.text.strip("“” \n") for call in played.calls if call.kind == "query"]
    failed = not all(map(says_something, played.calls)) or "" in queries or None in played.world.found
    for stop in stops:
        assert (stop["reason"] == "model_failed") == bool(stop["failure"])
        if stop["reason"] == "model_failed":
            assert failed
        if stop["reason"] == "limit_calls":  # what is reserved, and what was given up side by side
            assert len(played.calls) >= limits.model_calls - 8
        if stop["reason"] == "limit_seconds":
            assert any(call.reply.seconds for call in played.calls) or limits.seconds < 1


def holds_that_a_no_lacks_no_verdict(played: Played) -> None:
    """Where the run abstains and nothing stopped it, the critic was served with each passage and claim that it read."""
    served = Counter[tuple[str, ...]]()
    for call in played.calls:
        if call.kind in ("relevance", "support"):
            served[*call.messages[:-1], IN_WORDS.sub("", call.messages[-1])] += call.served
    if played.final["outcome"] == "abstained" and not played.final["stops"]:
        assert all(served.values())


def holds_that_every_quote_is_from_what_the_generator_read(played: Played) -> None:
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


def holds_that_no_claim_holds_unasked(played: Played) -> None:
    """Whatever is called supported was put to the critic, with all passages that its draft was written from."""
    best = played.final["best"]
    asked = [call for call in played.calls if call.kind == "support" and call.served]
    drafts: list[Any] = [*played.final["segments"]] or ([{**best["draft"], "claims": best["claims"]}] if best else [])
    for draft in drafts:
        for claim in draft["claims"]:
            if claim["verdict"]["label"] in SUPPORTED:
                assert claim["quote"] is not None
                last = [call.messages[-1] for call in asked if as_data(claim["text"]) in call.messages[-1]]
                assert any(all(as_data(one["text"]) in message for one in draft["passages"]) for message in last)


def holds_that_an_answer_is_the_draft_and_its_marks(played: Played) -> None:
    """An answer is a draft with what does not hold marked; anything else is a sentence that says so."""
    final, best = played.final, played.final["best"]
    answer = answer_alone(final)
    if final["outcome"] in ("grounded", "partially_grounded", "direct"):
        assert best is not None
        draft = best["draft"]["text"]
        note = "This is not from your documents, which do not answer the question.\n\n"
        assert answer.startswith(note) == (final["route"] == "fallback" or draft.startswith(note))
        assert MARK.sub("", answer.removeprefix(note)) == MARK.sub("", draft)
        return
    answer, *_ = answer.split("\n\n")
    assert answer.startswith(NO_ANSWER)
    assert answer.endswith(".")
    said = " ".join(played.world.question.split())
    if played.world.context.constraints == "hard":  # it may name the claim that failed, as such
        answer = re.sub("the documents do not fully support “.*”", "", answer)
    for text in (draft["text"] for _, update in played.updates for draft in update.get("drafts", [])):
        assert len(text) < 12 or text in said or text not in answer


def holds_that_what_is_relevant_was_graded_so(played: Played) -> None:
    final, levels = played.final, played.world.context.effective_thresholds
    k = played.world.context.k
    if final["length"] == "long":
        k = max(k, played.world.context.effective_limits.segments or 8)
    assert len({one["id"] for one in final["passages"]} - set(final["kept"])) <= k
    assert len(final["relevant"]) <= k
    searches = [index for index, step in enumerate(final["path"]) if step["node"] == "retrieve"]
    graded = bool(searches) and any("grades" in step["decided"] for step in final["path"][searches[-1] :])
    for one in final["passages"]:
        verdict = final["verdicts"].get(one["id"])
        if one["id"] in final["relevant"]:
            assert verdict
            assert verdict["label"] == "relevant"
            assert score(verdict, RELEVANCE) >= levels.relevant
        elif verdict and verdict["probabilities"] and graded and len(final["relevant"]) < k:
            assert score(verdict, RELEVANCE) < levels.relevant
    for _, update in played.updates:
        for draft in update.get("drafts", []):
            assert {one["id"] for one in draft["passages"]} <= set(final["verdicts"])


def holds_that_the_mode_is_kept(played: Played) -> None:
    mode, kinds = played.world.context.mode, {call.kind for call in played.calls}
    if mode == "never":
        assert not played.searches
        assert kinds <= {"standalone", "direct", "usefulness", "reason"}
    if mode != "adaptive":
        assert "retrieve" not in kinds
    if played.final["outcome"] == "direct":
        assert mode != "always" or played.world.context.fallback == "direct"

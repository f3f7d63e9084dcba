from typing import Any

from langchain_core.prompts import ChatPromptTemplate

from benchmarks.latency.good_model import Model, PrefixCache, count
from benchmarks.overhead import ROLES
from benchmarks.peers import prompts as peers
from benchmarks.sample import Asked
from prompts.grade_documents import RELEVANCE

SKY = Asked("Why is the sky blue?", "The sky is blue because", "The sky is blue because air scatters blue light.")
MODEL = Model([SKY], answer_tokens=100)
INPUTS = {"question": SKY.question, "passage": SKY.answer, "passages": SKY.answer, "claim": "It.", "answer": "It."}


def asking(prompt: ChatPromptTemplate) -> list[dict[str, Any]]:
    inputs = {name: INPUTS[name] for name in prompt.input_variables}
    return [{"role": ROLES[one.type], "content": one.text} for one in prompt.format_messages(**inputs)]


def turns(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def test_our_verdicts_are_one_token_with_probabilities_and_the_peers_are_charged_by_length() -> None:
    ours, theirs = MODEL.reply(asking(RELEVANCE.messages)), MODEL.reply(asking(peers.GRADE_PASSAGE))
    assert ours.tokens == 1
    assert ours.top is not None
    assert max(ours.top, key=lambda word: (ours.top or {})[word]) == "yes"
    assert theirs.top is None
    assert theirs.tokens == count('{"binary_score": "yes"}') > 1


def test_the_cache_serves_the_longest_beginning_of_whole_messages() -> None:
    cache = PrefixCache()
    total, cached = cache.read(turns("one two", "three"))
    assert (total > 0, cached) == (True, 0)
    beginning, _ = PrefixCache().read(turns("one two"))
    assert cache.read(turns("one two", "three four"))[1] == beginning
    assert cache.read(turns("one two", "three"))[1] == total
    assert cache.read(turns("other", "three"))[1] == 0

import pytest

from graph.context import Thresholds
from nodes.decide import decide
from tests.scripted import ScriptedCritic, roomy_tab, runtime, services, state, verdict


@pytest.mark.parametrize(("label", "route"), [("retrieve", "retrieve"), ("direct", "direct"), ("unknown", "retrieve")])
async def test_the_critic_chooses_the_route_and_unknown_retrieves(label: str, route: str) -> None:
    critic = ScriptedCritic({"What is 2+2?": label})
    update = await decide(state("What is 2+2?"), services(critic=critic, tab=roomy_tab()), runtime())
    assert (update["route"], update["decision"]["label"]) == (route, label)
    assert update["decided"] == {"route": route, "verdict": update["decision"]}


@pytest.mark.parametrize(("threshold", "route"), [(0.3, "retrieve"), (0.31, "direct")])
async def test_the_threshold_decides(threshold: float, route: str) -> None:
    critic = ScriptedCritic(otherwise={"retrieve": verdict("direct", {"retrieve": 0.3, "direct": 0.7})})
    context = runtime(thresholds=Thresholds(retrieve=threshold))
    update = await decide(state(), services(critic=critic, tab=roomy_tab()), context)
    assert (update["route"], update["decision"]["label"]) == (route, route)


@pytest.mark.parametrize(("mode", "route"), [("always", "retrieve"), ("never", "direct")])
async def test_a_mode_decides_without_the_critic(mode: str, route: str) -> None:
    critic = ScriptedCritic()
    update = await decide(state(), services(critic=critic, tab=roomy_tab()), runtime(mode=mode))
    assert update["route"] == route
    assert critic.asked == []


async def test_a_reason_is_asked_for_only_with_explain() -> None:
    critic = ScriptedCritic(otherwise={"retrieve": "retrieve"}, reasons={"Why?": "it is a fact"})
    made = services(critic=critic, tab=roomy_tab())
    plain = await decide(state("Why?"), made, runtime())
    explained = await decide(state("Why?"), made, runtime(explain=True))
    assert (plain["decision"]["reason"], explained["decision"]["reason"]) == (None, "it is a fact")

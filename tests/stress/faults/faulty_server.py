"""Serve a random model with faults in a share of the replies; count requests by question."""

from collections import Counter
from random import Random

from tests.integration.loopback import Loopback, Sent
from tests.integration.misbehaviour import FAULTS, Wire, refusal, reply
from tests.stress.faults.random_model import completion_for
from tests.stress.faults.tickets import TICKET


class FaultyServer(Loopback):
    """Draw a fault or none for each request, from a seed."""

    def __init__(self, seed: int, share: float) -> None:
        super().__init__(self.answer, pieces_at_once=64)
        self.seed = seed
        self.share = share
        self.requests: Counter[str] = Counter()  # by the question's number
        self.faults: Counter[str] = Counter()  # by the fault's name

    def answer(self, sent: Sent) -> Wire:
        """The reply to one request."""
        request = sent.body
        found = TICKET.findall("\n".join(str(one["content"]) for one in request["messages"]))
        number = found[-1] if found else "none"
        self.requests[number] += 1
        dice = Random(f"{self.seed}/{number}/{self.requests[number]}")
        name = dice.choice(list(FAULTS)) if dice.random() < self.share else None
        if name:
            self.faults[name] += 1
        try:
            completion = completion_for(request, dice)
        except LookupError as error:
            return refusal(418, str(error))
        return reply(completion, FAULTS[name] if name else None, stream=bool(request.get("stream")))

    def counts(self) -> tuple[Counter[str], Counter[str]]:
        """Requests by question and faults by name."""
        return self.requests, self.faults

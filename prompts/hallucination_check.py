"""Judge whether the passages state one claim of the draft, as an answer to the question (ISSUP).

The prompt does not continue the one that wrote the draft: a small model believes what it has just written, and then
told right from wrong answers no better than chance.
"""

from langchain_core.messages import BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice
from prompts.conversation import BOND, LEASE, MUSEUM, PASSAGES, SOLAR, SYSTEM, example

TASK = "Do the passages state that this is the answer?\nQuestion: {question}\nAnswer: {claim}"


def _example(passages: list[str], question: str, claim: str, reply: str) -> list[BaseMessage]:
    return example(passages, TASK.format(question=question, claim=claim), reply)


SUPPORT = Choice(
    name="support",
    replies={"yes": "fully supported", "partly": "partially supported", "no": "no support"},
    weights={"fully supported": 1.0, "partially supported": 0.5, "no support": 0.0},
    cautious="no support",
    reasons={
        "fully supported": "The passages state this answer.",
        "partially supported": "The passages state some of it, but not all.",
        "no support": "The passages do not state this answer.",
    },
    messages=ChatPromptTemplate.from_messages(
        [
            SYSTEM,
            *_example([LEASE], "How long before leaving must the tenant give notice?", "six months", "yes"),
            *_example(
                [LEASE],
                "On which day of the month is the deposit paid?",
                "The deposit is paid on the first working day.",
                "no",
            ),
            *_example([MUSEUM], "What was the museum's building used for before?", "It was a grain store.", "yes"),
            *_example(
                [LEASE],
                "How may the lease be ended early?",
                "By six months' notice in writing and a payment of one month's rent.",
                "partly",
            ),
            *_example([MUSEUM], "Who gave the museum its paintings?", "the Hallett family", "no"),
            *_example([SOLAR, BOND], "When does the bond mature?", "1 April", "no"),
            ("human", PASSAGES + TASK),
        ]
    ),
)

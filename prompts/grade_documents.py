"""Judge whether one passage answers the question, or a part of it (ISREL)."""

from langchain_core.messages import BaseMessage
from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice
from prompts.conversation import BOND, LEASE, PASSAGE_ALONE, SOLAR, SYSTEM, example

TASK = "Does the passage contain the answer?\nQuestion: {question}"


def _example(passage: str, question: str, reply: str) -> list[BaseMessage]:
    return example([passage], TASK.format(question=question), reply)


RELEVANCE = Choice(
    name="relevance",
    replies={"yes": "relevant", "no": "irrelevant"},
    weights={"relevant": 1.0, "irrelevant": 0.0},
    cautious="irrelevant",
    positive="relevant",
    reasons={"relevant": "It states the answer, or a part of it.", "irrelevant": "It does not state what is asked."},
    messages=ChatPromptTemplate.from_messages(
        [
            SYSTEM,
            *_example(LEASE, "How long before leaving must the tenant give notice?", "yes"),
            *_example(LEASE, "How much is the monthly rent?", "no"),
            *_example(SOLAR, "What are the causes of poor solar output?", "yes"),
            *_example(BOND, "When is interest on the bond paid?", "yes"),
            *_example(BOND, "What rate of interest does the bond pay?", "no"),
            ("human", PASSAGE_ALONE + TASK),
        ]
    ),
)

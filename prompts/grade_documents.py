"""Judge whether one passage answers the question, or a part of it (ISREL)."""

from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice
from prompts.conversation import BOND, CONTEXT_OF_ONE, LEASE, SOLAR, SYSTEM, example

TASK = "Does the passage contain the answer?"

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
            *example([LEASE], "How long before leaving must the tenant give notice?", TASK, "yes"),
            *example([LEASE], "How much is the monthly rent?", TASK, "no"),
            *example([SOLAR], "What are the causes of poor solar output?", TASK, "yes"),
            *example([BOND], "When is interest on the bond paid?", TASK, "yes"),
            *example([BOND], "What rate of interest does the bond pay?", TASK, "no"),
            ("human", CONTEXT_OF_ONE + TASK),
        ]
    ),
)

"""Ask one passage for its answer.

This continues the grade of the passage, which the model has read: only the last message is new to it.
"""

from langchain_core.prompts import ChatPromptTemplate

from prompts.grade_documents import RELEVANCE

MAX_TOKENS = 24
NO_ANSWER = "none"

BRIEF_ANSWER = RELEVANCE.messages + ChatPromptTemplate.from_messages(
    [
        ("ai", "yes"),
        (
            "human",
            "Then what is the answer? Copy from the passage only the few words that answer the question: a name, a "
            "date, a figure or a short phrase. No sentence.",
        ),
    ]
)

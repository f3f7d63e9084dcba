"""Ask one passage for its answer; the grade has read all but the task."""

from langchain_core.prompts import ChatPromptTemplate

from prompts.conversation import CONTEXT_OF_ONE
from prompts.grade_documents import RELEVANCE

MAX_TOKENS = 24
NO_ANSWER = "none"

BRIEF_ANSWER = RELEVANCE.messages[:-1] + ChatPromptTemplate.from_messages(
    [
        (
            "human",
            CONTEXT_OF_ONE + "What is the answer? Copy from the passage only the few words "
            "that answer the question: a name, a date, a figure or a short phrase. No sentence.",
        )
    ]
)

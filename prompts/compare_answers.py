"""Ask for the answer that one passage gives. The grade's prompt begins with the same words, so they are cached."""

from langchain_core.prompts import ChatPromptTemplate

from prompts.conversation import PASSAGE_ALONE, QUESTION
from prompts.grade_documents import RELEVANCE

MAX_TOKENS = 24
NO_ANSWER = "none"

BRIEF_ANSWER = RELEVANCE.messages[:-1] + ChatPromptTemplate.from_messages(
    [
        (
            "human",
            PASSAGE_ALONE + QUESTION + "What is the answer? Copy from the passage only the few words "
            "that answer the question: a name, a date, a figure or a short phrase. No sentence.",
        )
    ]
)

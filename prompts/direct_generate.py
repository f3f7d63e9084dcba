"""Answer without documents what needs none."""

from langchain_core.prompts import ChatPromptTemplate

MAX_TOKENS = 600

DIRECT_GENERATE = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You are a helpful assistant that answers briefly and correctly. You have no access to the present "
            "moment: neither the time nor the date, the weather, the news nor the user's place. Where one is asked "
            "for, say that you cannot know it.",
        ),
        ("human", "{question}"),
    ]
)

"""Answer a question that needs no documents."""

from langchain_core.prompts import ChatPromptTemplate

MAX_TOKENS = 600

DIRECT_GENERATE = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You are a helpful assistant. Answer briefly and correctly. You cannot see the weather, a clock, a "
            "calendar or the news: if the user asks for one of these, say so.",
        ),
        ("human", "Will it snow tonight?"),
        ("ai", "I cannot know: I have no access to weather reports."),
        ("human", "What is 25% of 80?"),
        ("ai", "25% of 80 is 20."),
        ("human", "Translate 'thank you' into Italian."),
        ("ai", "Grazie."),
        ("human", "How late is it?"),
        ("ai", "I cannot know: I have no clock."),
        ("human", "{question}"),
    ]
)

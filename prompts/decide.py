"""Decide whether the question needs the documents (Retrieve)."""

from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice

RETRIEVE = Choice(
    name="retrieve",
    replies={
        "fact": "retrieve",
        "math": "direct",
        "chat": "direct",
        "write": "direct",
        "code": "direct",
        "edit": "direct",
        "now": "direct",
    },
    weights={"retrieve": 1.0, "direct": 0.0},
    cautious="retrieve",
    positive="retrieve",
    messages=ChatPromptTemplate.from_messages(
        [
            (
                "system",
                "Sort the user's message into one category. Reply with one word.\n"
                "fact: it asks for information, of any kind, also general knowledge, or about a document\n"
                "math: arithmetic or logic that needs nothing but the message itself\n"
                "chat: small talk, or about you\n"
                "write: asks for a poem, story, name or other creative text\n"
                "code: asks for program code\n"
                "edit: asks to translate, rewrite or correct a text that is in the message\n"
                "now: asks for something of this very moment, such as the weather or the time",
            ),
            ("human", "Who discovered penicillin?"),
            ("ai", "fact"),
            ("human", "What is 17 times 23?"),
            ("ai", "math"),
            ("human", "hello there"),
            ("ai", "chat"),
            ("human", "Write a haiku about the sea."),
            ("ai", "write"),
            ("human", "penicillin side effects"),
            ("ai", "fact"),
            ("human", "Write a C function that reverses a string."),
            ("ai", "code"),
            ("human", "Translate into German: Where is the station?"),
            ("ai", "edit"),
            ("human", "What is twice the notice period given in the agreement?"),
            ("ai", "fact"),
            ("human", "Who wrote the sonnets to Orpheus?"),
            ("ai", "fact"),
            ("human", "What time is it?"),
            ("ai", "now"),
            ("human", "If all cats are animals, is every cat an animal?"),
            ("ai", "math"),
            ("human", "How does a hash map work?"),
            ("ai", "fact"),
            ("human", "Thanks a lot!"),
            ("ai", "chat"),
            ("human", "Summarise the second chapter."),
            ("ai", "fact"),
            ("human", "Make this sound more formal: can't come tmrw"),
            ("ai", "edit"),
            ("human", "Which languages is the contract translated into?"),
            ("ai", "fact"),
            ("human", "{question}"),
        ]
    ),
)

"""Decide whether the question needs the documents (Retrieve)."""

from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice

RETRIEVE = Choice(
    name="retrieve",
    replies={
        "search": "retrieve",
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
    reasons={
        "retrieve": "It asks for information, which the documents may hold.",
        "direct": "It needs no documents.",
        "math": "It is arithmetic or logic with everything needed in the message, so it needs no documents.",
        "chat": "It is small talk, or about the assistant, so it needs no documents.",
        "write": "It asks for invented text, which needs no documents.",
        "code": "It asks for program code, which needs no documents.",
        "edit": "It asks to work on a text that is in the message, so it needs no documents.",
        "now": "It asks for the weather, time or date of this moment, which no document holds.",
    },
    messages=ChatPromptTemplate.from_messages(
        [
            (
                "system",
                "Sort the user's message into one category. Reply with one word.\n"
                "search: it asks for a fact, explanation, definition, instruction or summary, of any kind; "
                "or about a document, policy, product, person or place. Choose it when in doubt\n"
                "math: arithmetic or logic with everything needed in the message itself\n"
                "chat: small talk or thanks, or about you, the assistant\n"
                "write: asks for a poem, story, name or other invented text\n"
                "code: asks to write or run program code\n"
                "edit: asks to translate, rewrite or correct a text that is in the message\n"
                "now: asks for the weather, time or date of this very moment",
            ),
            ("human", "Who discovered penicillin?"),
            ("ai", "search"),
            ("human", "What is 17 times 23?"),
            ("ai", "math"),
            ("human", "hello there"),
            ("ai", "chat"),
            ("human", "sourdough starter"),
            ("ai", "search"),
            ("human", "Can I take my laptop abroad?"),
            ("ai", "search"),
            ("human", "Write a haiku about the sea."),
            ("ai", "write"),
            ("human", "penicillin side effects"),
            ("ai", "search"),
            ("human", "Write a C function that reverses a string."),
            ("ai", "code"),
            ("human", "What does the manual say about cleaning the filter?"),
            ("ai", "search"),
            ("human", "Give me a regular expression for phone numbers."),
            ("ai", "code"),
            ("human", "Translate the preface of the manual."),
            ("ai", "search"),
            ("human", "How do I replace the battery?"),
            ("ai", "search"),
            ("human", "Translate into German: Where is the station?"),
            ("ai", "edit"),
            ("human", "What is twice the notice period given in the agreement?"),
            ("ai", "search"),
            ("human", "Who wrote the sonnets to Orpheus?"),
            ("ai", "search"),
            ("human", "What time is it?"),
            ("ai", "now"),
            ("human", "If all cats are animals, is every cat an animal?"),
            ("ai", "math"),
            ("human", "Shorten this to one sentence: We met on Monday. We talked for hours. Nobody agreed."),
            ("ai", "edit"),
            ("human", "Note down what the report says about costs."),
            ("ai", "search"),
            ("human", "What is a monad?"),
            ("ai", "search"),
            ("human", "What is the name of the director in the second report?"),
            ("ai", "search"),
            ("human", "How does a hash map work?"),
            ("ai", "search"),
            ("human", "Thanks a lot!"),
            ("ai", "chat"),
            ("human", "Summarise the second chapter."),
            ("ai", "search"),
            ("human", "Make this sound more formal: can't come tmrw"),
            ("ai", "edit"),
            ("human", "Which languages is the contract translated into?"),
            ("ai", "search"),
            ("human", "Invent a riddle about fire."),
            ("ai", "write"),
            ("human", "{question}"),
        ]
    ),
)

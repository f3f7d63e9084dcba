"""Decide whether the question needs the documents (Retrieve)."""

from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice

# Messages with their categories, in the prompt's order.
EXAMPLES = (
    ("Who discovered penicillin?", "search"),
    ("What is 17 times 23?", "math"),
    ("hello there", "chat"),
    ("sourdough starter", "search"),
    ("Can I take my laptop abroad?", "search"),
    ("Write a haiku about the sea.", "write"),
    ("penicillin side effects", "search"),
    ("Write a C function that reverses a string.", "code"),
    ("What does the manual say about cleaning the filter?", "search"),
    ("Give me a regular expression for phone numbers.", "code"),
    ("Translate the preface of the manual.", "search"),
    ("How do I replace the battery?", "search"),
    ("Translate into German: Where is the station?", "edit"),
    ("What is twice the notice period given in the agreement?", "search"),
    ("Who wrote the sonnets to Orpheus?", "search"),
    ("What time is it?", "now"),
    ("If all cats are animals, is every cat an animal?", "math"),
    ("Shorten this to one sentence: We met on Monday. We talked for hours. Nobody agreed.", "edit"),
    ("Note down what the report says about costs.", "search"),
    ("What is a monad?", "search"),
    ("What is the name of the director in the second report?", "search"),
    ("How does a hash map work?", "search"),
    ("Thanks a lot!", "chat"),
    ("Summarise the second chapter.", "search"),
    ("Make this sound more formal: can't come tmrw", "edit"),
    ("Which languages is the contract translated into?", "search"),
    ("Invent a riddle about fire.", "write"),
)

RETRIEVE = Choice(
    name="retrieve",
    replies={"search": "retrieve", **dict.fromkeys(("math", "chat", "write", "code", "edit", "now"), "direct")},
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
            *(turn for message, reply in EXAMPLES for turn in (("human", message), ("ai", reply))),
            ("human", "{question}"),
        ]
    ),
)

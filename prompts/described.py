"""Find the words with which a question describes its subject, such as "the firm that bought Delmer Foods"."""

from langchain_core.prompts import ChatPromptTemplate

MAX_TOKENS = 40

EXAMPLES = (
    ("Where did the architect of the Norhavn town hall study?", "the architect of the Norhavn town hall"),
    (
        "In which city is the company based that supplies the milk of Halden school?",
        "the company based that supplies the milk of Halden school",
    ),
    (
        "Wie lange gilt die Garantie der Pumpe, die 2019 in Halle 3 eingebaut wurde?",
        "der Pumpe, die 2019 in Halle 3 eingebaut wurde",
    ),
    ("How many people live in Ida Kestrel's birthplace?", "Ida Kestrel's birthplace"),
    ("Who is the chairman of the firm that bought Delmer Foods?", "the firm that bought Delmer Foods"),
    ("Who wrote the opera that opened the Aldana theatre?", "the opera that opened the Aldana theatre"),
    ("What is the capital of the country where Tamsel is located?", "the country where Tamsel is located"),
    (
        "Qui a vendu l'entreprise fondée par Marc Orvane en 1931 ?",
        "l'entreprise fondée par Marc Orvane en 1931",
    ),
    ("In which year did the owner of the Quill Air terminal join the board?", "the owner of the Quill Air terminal"),
    ("Who leads the team that plays in the stadium of Brisco?", "the team that plays in the stadium of Brisco"),
)

DESCRIBED = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "A question asks something about a person, place or thing that it does not name, but describes by what "
            "else is known of it: 'the person who ...', 'the company that ...', 'the owner of ...', '...'s "
            "birthplace'. Copy from the question the words that describe it, all of them and nothing else. Do not "
            "answer the question.",
        ),
        *(turn for asked, reply in EXAMPLES for turn in (("human", f"Question: {asked}"), ("ai", reply))),
        ("human", "Question: {question}"),
    ]
)

"""Judge whether one claim of the draft follows from the passages (ISSUP).

It continues the generator's own messages, so that a server with a prefix cache need not read the passages again.
"""

from langchain_core.prompts import ChatPromptTemplate

from prompts.choice import Choice
from prompts.generate import GENERATE

SUPPORT = Choice(
    name="support",
    replies={"full": "fully supported", "partial": "partially supported", "none": "no support"},
    weights={"fully supported": 1.0, "partially supported": 0.5, "no support": 0.0},
    cautious="no support",
    messages=GENERATE
    + ChatPromptTemplate.from_messages(
        [
            ("ai", "{draft}"),
            (
                "human",
                "Now check one statement of this answer against the passages. Reply with one word.\n"
                "full: the passages state all of it\n"
                "partial: the passages state a part of it\n"
                "none: the passages do not state it, or contradict it\n"
                "<claim>\n{claim}\n</claim>",
            ),
        ]
    ),
)

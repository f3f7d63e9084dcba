"""Write another search query when no passage found answers the question."""

from langchain_core.prompts import ChatPromptTemplate

MAX_TOKENS = 40

REWRITE_QUERY = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You write search queries for a library of documents. Given a question and the queries that found "
            "nothing, write one other query for the same question: other words, synonyms, or the terms that the "
            "answer itself would use. Reply with the query alone, at most 12 words.",
        ),
        ("human", "Question: how do I get my money back?\nTried:\n- how do I get my money back?"),
        ("ai", "refund policy reimbursement of payments"),
        ("human", "Question: {question}\nTried:\n{tried}"),
    ]
)

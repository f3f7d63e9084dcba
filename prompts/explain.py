"""Ask the critic why it gave a verdict; this follows the prompt of the choice and the critic's reply."""

from langchain_core.prompts import ChatPromptTemplate

# ``verdict`` is the final one: thresholds and calibration may have changed the critic's own.
EXPLAIN = ChatPromptTemplate.from_messages([("human", "The verdict is: {verdict} Say in one short sentence why.")])
# For the redraft of a claim that failed.
CRITICISE = ChatPromptTemplate.from_messages(
    [("human", "Why? Answer in one short sentence that names what is missing or wrong.")]
)

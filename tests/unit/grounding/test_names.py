"""Which names of a claim its passages do not know: false alarms are as wrong as misses."""

import pytest

from grounding.names import has_name, missing_names, names, names_asked_for

ADA = "In London, Ada Lovelace wrote the notes. The notes were long."


def missing(claim: str, text: str, question: str = "", *, elsewhere: str = "") -> list[str]:
    return missing_names(claim, text, question, text, elsewhere=elsewhere)


@pytest.mark.parametrize(
    ("claim", "text", "gone"),
    [
        # it may stand there in another form, or be no name
        ("The notes are Lovelace's.", ADA, []),
        ("It is in the Notes.", ADA, []),
        ("It is Müller who wrote.", "Muller wrote.", []),
        ("It was O’Brien.", "O'Brien did it.", []),
        ("It is like McDonalds.", "McDonald's sells it.", []),
        ("The Brazilian rate fell.", "In Brazil it fell.", []),
        ("Although Ada wrote, it sold badly.", "The notes of Ada sold badly.", []),
        ("It fell in the Netherlands.", "The Dutch rate fell.", []),
        ("It is run by the ISS.", "The International Space Station runs.", []),
        ("It is run by UNESCO.", "The United Nations Educational, Scientific and Cultural Organization runs it.", []),
        ("It holds in the United States.", "It holds in the U.S. only.", []),
        ("It holds in Britain.", "It holds in the U.K.", []),
        ("It began in May.", "It began on 2021-05-03.", []),
        ("It is open in July.", "It is open from May to September.", []),
        ("It is open on Wednesday.", "It is open Monday to Friday.", []),
        ("It is open on Sundays.", "It is open daily.", []),
        ("It stands in Section 3, see Table 2.", "It stands there.", []),
        ("The fee is due from the Tenant.", "The lessee pays.", []),
        ("Call `Babbage.run` or see https://Babbage.org.", "Call it.", []),
        ("The Lessee Pays The Deposit To Lessor.", "Tenants pay landlords.", []),
        ("THE LESSEE PAYS.", "Tenants pay.", []),
        ("It was written by Gausz.", "Gauss wrote it.", []),
        ("World War II ended in VE day.", "World war ended in a day.", []),
        # capitals or languages do not tell
        ("Die Wohnung ist schön und nicht teuer.", "Der Mieter zahlt 500 Euro und ist zufrieden.", []),
        ("Die Miete ist am Ersten fällig und wird gezahlt.", "The rent is due on the first of the month.", []),
        # it stands nowhere
        ("The notes are by Babbage.", ADA, ["Babbage"]),
        ("It was written by Bech.", "Bach wrote it.", ["Bech"]),
        ("NASA wrote the notes.", ADA, ["NASA"]),
        ("Robert Lovelace wrote the notes.", ADA, ["Robert"]),
        ("Author Ada Lovelace wrote the notes.", ADA, []),
        ("It began in May.", "It began in June.", ["May"]),
        ("It is closed on Sunday.", "It is closed on Monday.", ["Sunday"]),
        ("The rate fell in Austria.", "In Australia it fell.", ["Austria"]),
        ("The rate fell in Łódź.", "In Kraków it fell.", ["Łódź"]),
    ],
)
def test_a_name_is_missing_that_stands_in_no_form_in_the_text(claim: str, text: str, gone: list[str]) -> None:
    assert missing(claim, text) == gone


@pytest.mark.parametrize(
    ("claim", "text", "question", "gone"),
    [
        # the quote is about what it names itself
        ("Brazil emitted 59 Gt.", "Global emissions were 59 Gt.", "How much did Brazil emit?", ["Brazil"]),
        # the quote may be about what was asked for
        ("Beyoncé was born in Houston.", "She was born in Houston.", "Where was Beyoncé born?", []),
        ("Acme was founded in 1990.", "The company was founded in 1990.", "When was Acme founded?", []),
        ("Acme pays yearly.", "Employees are paid yearly by their employer.", "How does Acme pay?", []),
        # a part of the name stands there
        ("Hillary Clinton signed.", "Clinton signed.", "Did Hillary Clinton sign?", []),
        # nothing is asserted of it
        ("No, Brazil did not sign.", "Germany signed.", "Did Brazil sign?", []),
        # another form of it stands there
        ("Brazil emitted 59 Gt.", "Brazilian emissions were 59 Gt.", "How much did Brazil emit?", []),
        # no capital tells that it is a name
        ("Brazil emitted 59 Gt.", "Global emissions were 59 Gt.", "how much did brazil emit?", []),
        ("Brazil emitted 59 Gt.", "Global emissions were 59 Gt.", "HOW MUCH DID BRAZIL EMIT?", []),
        ("Emissions were 59 Gt.", "Global output was 59 Gt.", "Emissions?", []),
    ],
)
def test_a_name_that_only_the_question_has(claim: str, text: str, question: str, gone: list[str]) -> None:
    assert missing(claim, text, question) == gone


@pytest.mark.parametrize(
    ("claim", "gone"),
    [("Babbage wrote it.", ["Babbage"]), ("Women wrote it.", []), ("Tenants wrote it.", []), ("Nobody wrote it.", [])],
)
def test_the_first_word_answers_a_question_for_somebody(claim: str, gone: list[str]) -> None:
    assert missing(claim, ADA, "Who wrote it?") == gone
    assert missing(claim, ADA, "What was written?") == []


def test_what_is_known_elsewhere_counts_for_names_that_were_asked_for_alone() -> None:
    text, question = "Global emissions were 59 Gt.", "How much did Brazil emit?"
    assert missing("Brazil emitted 59 Gt.", text, question, elsewhere="brazil report") == []
    assert missing("It was Peru that emitted it.", text, question, elsewhere="peru report") == ["Peru"]


def test_names_stand_in_runs() -> None:
    found = list(names("Charles Babbage met Ada Lovelace's Mother in Paris. They spoke. “Peter” too."))
    assert [one.text for one in found] == ["Charles", "Babbage", "Ada", "Lovelace", "Mother", "Paris", "Peter"]
    assert [one.text for one in found if one.opens] == ["Charles", "Peter"]
    assert found[2].run == ("Ada", "Lovelace")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What did Ada Lovelace's aunt do in Paris, and when did Paris fall?", [("Ada", "Lovelace"), ("Paris",)]),
        ("Calculate the total income of Waldau in 2025.", [("Waldau",)]),
        ("Kraft Heinz goodwill in 2018 and the write-down of it", [("Kraft", "Heinz")]),
        ("What was the total income?", []),
        ("What Was The Total Income Of The Clinic?", []),
        ("Wie hoch war das Einkommen der Klinik von Waldau im Jahr?", []),
    ],
)
def test_a_question_asks_for_names(question: str, asked: list[tuple[str, ...]]) -> None:
    assert names_asked_for(question) == asked


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("Ada Lovelace", "Lovelace wrote.", True),
        ("Child Left Behind", "schools under NCLB", True),
        ("Border Protection", "what the CBP collected", True),
        ("Border Protection", "the bp of it", False),
        ("Waldau", "W. has 96 beds.", False),
        ("Waldau", "The clinics of Waldaus", True),
    ],
)
def test_a_text_has_a_word_of_a_name_or_its_initials(name: str, text: str, named: bool) -> None:
    assert has_name(name.split(), text) is named

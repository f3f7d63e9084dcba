"""A table is asked by a query over all of its rows; what only they answer is never answered from some of them."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from core.types import Passage, TableFound
from nodes.found_passages import as_passage
from nodes.query_checks import added
from nodes.query_table import MOST_CITED, query_table
from retrieval.documents.load import parse_document
from retrieval.documents.loaded import CELLS, Loaded
from retrieval.documents.row_files import read_csv
from tests.scripted import ScriptedCritic, ScriptedGenerator, document, passage, run_node, state, verdict
from tests.stations import MOST, ORDER, Library

DIFFERENT = "SELECT SUM(platforms) FROM data WHERE station IN ('Alder', 'Birch', 'Cedar')"


async def asked(
    question: str, *selects: str, fits: Any = "fits", library: Library | None = None, **settings: Any
) -> Any:
    library = library or Library()
    found = [as_passage(one) for one in library.passages[:2]]
    number = next(cells[0][0] for one in library.passages if (cells := one.metadata.get(CELLS)))
    before = state(question, table=TableFound(source="stations.csv", number=number), passages=found, found=found)
    generator = ScriptedGenerator(selects=selects[:1], selects_again=selects[1:])
    update = await run_node(
        query_table, before, generator, ScriptedCritic(otherwise={"fits": fits}), library, **settings
    )
    generator.done()
    return update


async def test_rows_that_tie_are_each_a_claim_with_their_own_row_quoted() -> None:
    update = await asked(MOST, ORDER, fits=verdict("fits", {"fits": 0.9, "differs": 0.1}))
    assert update["drafts"][0]["text"] == "- Birch (Platforms: 12)\n- Cedar (Platforms: 12)"
    texts = {one["id"]: one["text"] for one in update["found"]}
    assert [texts[claim["quote"]["passage"]] for [*claims] in update["claims"] for claim in claims] == [
        "Station: Birch\nLine: Blue\nPlatforms: 12",
        "Station: Cedar\nLine: Red\nPlatforms: 12",
    ]
    assert update["claims"][0][0]["verdict"]["probabilities"]["no support"] == pytest.approx(0.1)
    assert update["queried"] == {
        "sql": "SELECT station FROM data ORDER BY platforms DESC LIMIT 1",
        "source": "stations.csv",
        "rows": 33,
        "carried_by": 2,
    }


async def test_a_count_is_one_claim_that_quotes_the_rows_that_it_counts() -> None:
    update = await asked("How many stations are on the Green line?", "SELECT COUNT(*) FROM data WHERE line = 'Green'")
    assert update["drafts"][0]["text"] == "30"
    ((claim,),) = update["claims"]
    assert 1 + len(claim["row_quotes"]) == MOST_CITED
    assert update["queried"]["carried_by"] == 30


async def test_of_two_cells_one_is_named_by_its_column_and_a_figure_by_the_title() -> None:
    rows = "".join(f"<tr><td>{name}</td><td>{first}</td></tr>" for name, first in (("Ada", "no"), ("Bo", "yes")))
    page = f"<title>Entries of week 32</title><table><tr><th>Grower</th><th>First entry</th></tr>{rows}</table>"
    library = Library(parse_document(Path("entries.html"), page.encode()))
    select = "SELECT COUNT(*) FROM data WHERE first_entry = 'no'"
    update = await asked("How many growers of week 32 have entered before, not first?", select, library=library)
    assert update["drafts"][0]["text"] == "1"


async def test_a_query_may_lack_the_space_behind_a_word_of_its_own() -> None:
    update = await asked(MOST, "SELECTstation FROMdata ORDER BYplatforms DESC LIMIT 1")
    assert update["claims"][0][0]["text"] == "Birch (Platforms: 12)"


async def test_a_query_that_fails_is_written_again_with_the_reason() -> None:
    update = await asked(MOST, "SELECT town FROM data", f"```sql\n{ORDER}\n```")
    assert update["decided"]["accepted"]


@pytest.mark.parametrize(
    ("question", "select"),
    [
        ("How many stations are on the Red line?", "SELECT COUNT(*) FROM data WHERE line = 'Green'"),
        ("Which station has 7 platforms?", "SELECT station FROM data WHERE platforms > 1"),  # without 7
        ("Which has more platforms, Alder or Cedar?", "SELECT station FROM data WHERE station = 'Alder'"),
    ],
)
async def test_a_query_that_leaves_out_what_the_question_names_is_none(question: str, select: str) -> None:
    update = await asked(question, select, select)
    assert "which the question names" in update["decided"]["failed"]
    assert "drafts" not in update


async def test_a_note_on_the_result_is_a_condition_of_it() -> None:
    page = b"""<table><tr><th>Station</th><th>Platforms</th></tr><tr><td>Alder</td><td>7*</td></tr>
        <tr><td>Birch</td><td>12</td></tr></table><p>* Two are closed.</p>"""
    library = Library(parse_document(Path("stations.html"), page))
    select = "SELECT platforms FROM data WHERE station = 'Alder'"
    update = await asked("How many platforms has Alder?", select, library=library)
    ((claim,),) = update["claims"]
    (quote,) = claim["conditions"]
    (passage,) = (one for one in update["drafts"][0]["passages"] if one["id"] == quote["passage"])
    assert passage["text"][quote["start"] : quote["end"]] == "* Two are closed."


@pytest.mark.parametrize(
    ("select", "answer"),
    [
        (ORDER.replace("DESC", "ASC"), "Oak 3 (Platforms: 1)"),
        ("SELECT station FROM data WHERE platforms = (SELECT MIN(platforms) FROM data)", "Oak 3"),
        ("SELECT station FROM data WHERE platforms < (SELECT AVG(platforms) FROM data)", "Oak 3"),
        (
            "SELECT station FROM data WHERE platforms < (SELECT platforms FROM data WHERE station = 'Cedar')",
            "Oak 3 (Platforms: 1)",
        ),
    ],
)
async def test_a_query_without_the_rows_that_are_compared_is_asked_of_them_alone(select: str, answer: str) -> None:
    update = await asked("Which has fewer platforms, Cedar or Oak 3?", select)
    assert update["drafts"][0]["text"] == answer
    assert "station IN ('Cedar', 'Oak 3')" in update["queried"]["sql"]
    assert "AVG(platforms) FROM data)" in update["queried"]["sql"] or "AVG" not in select


@pytest.mark.parametrize(
    ("question", "select", "answer"),
    [
        ("Which is cheaper, Cedar or Alder?", ORDER, "Alder (Platforms: 7)"),
        ("Which is higher, Cedar or Alder?", ORDER.removesuffix(" LIMIT 1"), "Cedar (Platforms: 12)"),
        ("How are the platforms of Cedar and Alder?", ORDER.removesuffix(" LIMIT 1"), "- Cedar (Platforms: 12)"),
    ],
)
async def test_the_direction_and_the_one_that_is_asked_for_are_the_questions(
    question: str, select: str, answer: str
) -> None:
    select = select.replace("ORDER", "WHERE station IN ('Alder', 'Cedar') ORDER")
    update = await asked(question, f"{select};")
    assert update["drafts"][0]["text"].splitlines()[0] == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many platforms have Cedar and Alder together?", "19"),
        ("How many more platforms has Cedar than Alder?", "5"),
        ("Um wie viele Gleise ist Cedar größer als Alder?", "5"),
        ("What is the difference between Alder and Cedar?", "5"),
        ("How many points higher is Alder than Cedar?", "5"),
        ("How many platforms do Cedar and Alder have?", "19"),
        ("Which is the largest altogether, Cedar or Alder?", "Cedar (Platforms: 12)"),
    ],
)
async def test_a_sum_or_difference_of_what_the_question_names_is_of_the_figure_that_the_query_uses(
    question: str, answer: str
) -> None:
    update = await asked(question, ORDER.replace("ORDER", "WHERE station IN ('Alder', 'Cedar') ORDER"))
    assert update["drafts"][0]["text"] == answer


async def test_a_difference_is_of_the_figure_that_the_question_names() -> None:
    tariffs = Library(Loaded(read_csv("Tarif;Leistung;Preis im Jahr\nBasis;1.000 €;39,90 €\nStadt;2.000 €;68,40 €\n")))
    select = "SELECT tarif FROM data WHERE tarif IN ('Basis', 'Stadt') ORDER BY leistung DESC"
    update = await asked("Um wie viel Euro ist Stadt im Jahr teurer als Basis?", select, library=tariffs)
    assert update["drafts"][0]["text"] == "28,50 €"
    update = await asked("Um wie viel Euro bietet Stadt mehr als Basis?", select, library=tariffs)
    assert update["drafts"][0]["text"] == "1000 €"


@pytest.mark.parametrize(
    ("question", "condition", "count"),
    [
        ("Wie viele Gemeinden haben mehr als 1.500 Einwohner?", "einwohner > 1500", "2"),
        ("Wie viele Gemeinden haben mehr als zwanzig Einwohner?", "einwohner > 20", "3"),
        ("How many towns have more than two thousand residents?", "einwohner > 2000", "2"),
    ],
)
async def test_a_figure_is_compared_with_as_the_language_of_the_question_writes_it(
    question: str, condition: str, count: str
) -> None:
    towns = Library(Loaded(read_csv("Gemeinde;Einwohner\nAach;2.298\nBohl;1.402\nCalw;23.106\n")))
    update = await asked(question, " ".join(("SELECT COUNT(*) FROM data WHERE", condition)), library=towns)
    assert update["drafts"][0]["text"] == count


async def test_a_row_is_named_without_its_brackets_and_figures_unless_they_tell_it_from_another() -> None:
    fees = "Group,Fee\nSeniors from 67,4\nJuniors (4 to 12),2\nTeam 1,9\nTeam 2,8\n"
    library = Library(Loaded(read_csv(fees)))
    select = "SELECT fee FROM data ORDER BY fee"
    update = await asked("What do seniors and juniors pay together?", select, library=library)
    assert update["drafts"][0]["text"] == "6"
    update = await asked("What do juniors and team 2 pay together?", select, library=library)
    assert update["drafts"][0]["text"] == "10"


async def test_a_sum_without_a_figure_is_written_again_of_one_of_the_columns_of_figures() -> None:
    count = "SELECT COUNT(*) FROM data WHERE station IN ('Alder', 'Cedar')"
    update = await asked("How many have Cedar and Alder together?", count, count)
    assert "Write SELECT SUM(X) FROM data WHERE station IN ('Alder', 'Cedar')" in update["decided"]["failed"]


@pytest.mark.parametrize(
    ("question", "select", "why"),
    [
        ("Which has more tracks, Alder or Cedar?", ORDER, "compares by platforms"),
        ("Which is higher, Alder or Cedar?", "SELECT station FROM data WHERE platforms > 1", "orders nothing"),
    ],
)
async def test_what_is_compared_by_nothing_that_is_asked_is_written_again_from_the_names(
    question: str, select: str, why: str
) -> None:
    update = await asked(question, select, select)
    assert why in update["decided"]["failed"]
    assert "Begin with SELECT station FROM data WHERE station IN ('Alder', 'Cedar')" in update["decided"]["failed"]


async def test_what_has_no_figure_is_not_compared_by_it() -> None:
    library = Library(
        Loaded(read_csv("Station,Platforms\n" + "".join(f"Oak {n},{n}\n" for n in range(12)) + "Alder,7\nCedar,none\n"))
    )
    select = "SELECT station FROM data WHERE station IN ('Alder', 'Cedar') ORDER BY platforms DESC LIMIT 1"
    update = await asked("Which has more platforms, Alder or Cedar?", select, select, library=library)
    assert "Not all that it compares have platforms." in update["decided"]["failed"]


@pytest.mark.parametrize(
    ("question", "condition", "is_added"),
    [
        ("How many stations are on the green line?", "line = 'Green'", False),
        ("How many stations are Italian?", "country = 'Italy (north)'", False),
        ("How many stations opened after 2019?", "opened >= '2020-01-01'", False),
        ("How many stations are in the north?", "line = 'Green'", True),
        ("Wie viele Stationen sind im Norden der Stadt?", "part = 'North'", False),  # other languages have other words
        ("Welche Station öffnet am frühesten?", "opens = '6:15'", True),
        ("Welche Station öffnet um 6 Uhr 15?", "opens = '6:15'", False),
        ("How many trains leave before eight?", "leaves < '08:00'", False),
        ("How many trains leave before eight?", "leaves < '08:19'", True),
        ("How many stations opened last?", "opened > '2019-01-01'", True),
    ],
)
def test_a_text_that_the_question_does_not_name_is_added(question: str, condition: str, is_added: bool) -> None:
    query = "SELECT COUNT(*) FROM data WHERE line = 'Red'".replace("line = 'Red'", condition)
    assert bool(added(question, query)) is is_added


@pytest.mark.parametrize(
    ("question", "select", "why"),
    [
        ("How many stations are on the Red line?", "SELECT station FROM data WHERE line = 'Red'", "gives rows"),
        ("How many platforms are there altogether?", "SELECT platforms FROM data", "gives rows"),
        ("How many have 7 platforms?", "SELECT platforms FROM data WHERE platforms = 7", "gives rows"),
        (
            "What is the sum of the 2 highest?",
            "SELECT SUM(platforms) FROM data ORDER BY platforms DESC LIMIT 2",
            "LIMIT 2",
        ),
        ("How many trains leave the town?", "SELECT COUNT(*) FROM data WHERE line IS NOT NULL", "no trains leave"),
        ("Combien de villes y a-t-il ?", "SELECT COUNT(*) FROM data", "no de villes"),
        (
            "How many Alders and Cedars are there?",
            "SELECT COUNT(*) FROM data WHERE station IN ('Alder', 'Cedar')",
            "counts rows that the question names",
        ),
        (
            "How many trains leave the alders?",
            "SELECT COUNT(*) FROM data WHERE station = 'Alder'",
            "counts rows that the question names",
        ),
        ("How many more platforms has Birch than Cedar?", ORDER, "no difference"),
        ("Which has the second most platforms?", ORDER, "add OFFSET"),
        ("How many have few platforms?", "SELECT COUNT(*) FROM data WHERE platforms < 8", "compares with 8"),
        (
            "What are the platforms of Alder plus Cedar?",
            "SELECT platforms FROM data WHERE station IN ('Alder', 'Cedar') ORDER BY platforms LIMIT 1",
            "gives one of those",
        ),
        ("Which station came third by its platforms?", ORDER, "add OFFSET"),
        ("Which line has the most platforms?", ORDER.replace("station", "line"), "GROUP BY line"),
        ("Which line has the most stations?", "SELECT COUNT(*) FROM data", "asks which one"),
        ("What is the difference of Alder, Birch and Cedar?", DIFFERENT, "no difference"),
        ("Which is the last station?", "SELECT station FROM data ORDER BY station DESC LIMIT 1", "no order"),
        ("What is the total of all lines?", "SELECT SUM(line) FROM data", "no sum"),
    ],
)
async def test_a_result_of_another_kind_than_is_asked_for_is_none(question: str, select: str, why: str) -> None:
    update = await asked(question, select, select)
    assert why in update["decided"]["failed"]


@pytest.mark.parametrize(("things", "answer"), [("platforms", "61"), ("lines", "3"), ("stations", "33")])
async def test_what_is_counted_is_what_the_question_asks_for(things: str, answer: str) -> None:
    update = await asked(f"How many {things} are there?", "SELECT count(*) FROM data")
    assert update["drafts"][0]["text"] == answer


async def test_a_query_is_written_again_from_the_columns_that_the_question_names() -> None:
    update = await asked("Where are the most platforms?", "SELECT town FROM data", "SELECT town FROM data")
    assert update["decided"]["failed"].endswith("The question speaks of platforms.")


@pytest.mark.parametrize(("selects", "fits"), [(["none"], "fits"), ([ORDER], "differs"), (["x", "none"], "fits")])
@pytest.mark.parametrize(
    ("question", "left"),
    [
        (MOST, True),
        ("¿Cuántas estaciones hay?", True),
        ("Is Alder on the Red line?", False),
        ("Is Alder higher than Cedar on the Red line?", True),
    ],
)
async def test_without_a_query_what_only_all_rows_answer_is_not_read_from_some(
    selects: list[str], fits: str, question: str, left: bool
) -> None:
    if question != MOST:
        stations = "'Alder', 'Cedar'" if "Cedar" in question else "'Alder'"
        select = "SELECT platforms FROM data WHERE station IN (X) AND line = 'Red'".replace("X", stations)
        selects = [one.replace(ORDER, select) for one in selects]
    update = await asked(question, *selects, fits=fits)
    assert "drafts" not in update
    assert (update["table"] is not None) is left


async def test_rows_that_are_not_read_come_back_in_no_pair() -> None:
    library = Library()
    found = [passage("a"), *map(as_passage, library.passages[:2])]
    before = state(MOST, table=TableFound(source="stations.csv", number=0), passages=found, found=found)
    update = await run_node(query_table, before, ScriptedGenerator(selects=["none"]), ScriptedCritic(), library)
    assert update["table"] is None
    assert update["passages"] == update["found"] == [passage("a")]


async def test_a_result_that_is_too_long_says_how_many_more_there_are() -> None:
    update = await asked("Which stations are on the Green line?", "SELECT station FROM data WHERE line = 'Green'")
    lines = update["drafts"][0]["text"].splitlines()
    assert (len(lines), lines[-1]) == (21, "- and 10 more")


class Named(Library):
    """The stations, beside what searches for a name find in the table's document and in another."""

    def __init__(self, inside: str, outside: str) -> None:
        super().__init__()
        self.inside, self.outside = document(inside, source="stations.csv"), document(outside)

    async def within(self, source: str, query: str, k: int) -> list[Document]:
        assert source == "stations.csv"
        return [self.inside]

    async def ainvoke(self, input: str, *, k: int) -> list[Document]:  # noqa: A002
        return [self.outside]


@pytest.mark.parametrize(
    ("inside", "outside", "other"),
    [
        ("Stations of the coast", "Netflix has stations", True),
        ("Netflix has these", "Netflix has stations", False),
        ("Stations of the coast", "Hulu has stations", False),
    ],
)
async def test_a_table_is_not_asked_of_what_only_another_document_names(inside: str, outside: str, other: bool) -> None:
    question = "Which station of Netflix has the most platforms?"
    update = await asked(question, *(() if other else (ORDER,)), library=Named(inside, outside))
    assert ("drafts" in update) is not other
    assert update["decided"]["failed"] == (
        "Of the documents that name 'Netflix' none holds the table." if other else ""
    )
    update = await asked(
        "Welche Station von Netflix hat die meisten Bahnsteige?", ORDER, library=Named(inside, outside)
    )
    assert "drafts" in update


async def test_a_table_is_asked_if_the_question_names_its_file() -> None:
    library = Named("Of the coast", "Stations and Netflix")
    assert "drafts" in await asked("Which of Netflix's Stations has the most platforms?", ORDER, library=library)


async def test_the_row_that_a_question_names_is_read_where_no_query_is_good() -> None:
    asked_of = "How many platforms below the road has Alder?"
    for changes, table in (({}, True), ({"left_out": []}, False)):
        library = Library()
        found = [Passage(**{**as_passage(one), **changes}) for one in library.passages[:2]]
        before = state(asked_of, table=TableFound(source="stations.csv", number=0), passages=found, found=found)
        update = await run_node(query_table, before, ScriptedGenerator(selects=["none"]), ScriptedCritic(), library)
        assert (update["table"] is not None) is table

"""Tables of PDF pages, from the file to the text of its pages."""

from pathlib import Path
from random import Random

import matplotlib
import pytest

from retrieval.documents.headings import is_heading_list
from retrieval.documents.load import parse_document
from retrieval.documents.loaded import CELLS, Section
from retrieval.documents.pdf import reader
from retrieval.documents.pdf.quote_places import place_quote
from retrieval.documents.pdf.sections import page_section
from tests.unit.retrieval.documents.pdfs import Text, grid, in_columns, laid_out
from tests.unit.retrieval.documents.processor_time import bounded

BALANCE = [
    ["", "2024", "2023"],
    ["Cash", "1,200", "900"],
    ["Land and buildings", "25,000", "24,100"],
    ["Total", "26,200", "25,000"],
]
COLUMNS = [60, 250, 350]
PROSE = (
    "The tables of a report are what most of its readers look at first",
    "and so a reader of files has to keep every figure beside its name",
    "because nobody can tell from a row of bare numbers what they mean.",
)


def sections(data: bytes) -> list[Section]:
    return parse_document(Path("report.pdf"), data).sections


def text_of(texts: list[Text], lines: list[tuple[float, float, float, float]] | None = None) -> str:
    (only,) = sections(laid_out((texts, lines or [])))
    return only.text


def paragraph(x: float, top: float, step: float = 13) -> list[Text]:
    return [(x, top + step * index, line) for index, line in enumerate(PROSE)]


def test_figures_in_columns_are_rows_with_the_names_above_them() -> None:
    assert text_of([(60, 60, "Balance sheet"), *in_columns(COLUMNS, BALANCE)]) == (
        "Balance sheet\n"
        "Cash | 2024: 1,200 | 2023: 900\n"
        "Land and buildings | 2024: 25,000 | 2023: 24,100\n"
        "Total | 2024: 26,200 | 2023: 25,000"
    )


def test_a_caption_is_the_heading_of_its_table_alone_and_text_stays_in_its_place() -> None:
    texts = [*paragraph(60, 40), (60, 90, "Table 2: Assets"), *in_columns(COLUMNS, BALANCE), *paragraph(60, 180)]
    (only,) = sections(laid_out((texts, [])))
    before, table, after = only.text.split("\n\n")
    assert before == after == " ".join(PROSE)
    assert table.startswith("Table 2: Assets\nCash | 2024: 1,200")
    caption, end = only.headings
    assert only.text[caption.start : caption.end] == "Table 2: Assets"
    assert end.start == end.end == only.text.index(after, len(before) + 1) - 2
    assert {row for _, row, *_ in (only.extra or {})[CELLS]} == {1, 2, 3}


@pytest.mark.parametrize(
    ("above", "heading"),
    [
        (["Assets", "(in millions)"], "Assets\n(in millions)"),
        ([f"{PROSE[0]}. This is what we own:"], "This is what we own:"),
        ([f"{PROSE[0]}."], ""),
    ],
)
def test_what_leads_in_a_table_is_its_heading(above: list[str], heading: str) -> None:
    texts = [(60, 100 - 12 * (len(above) - index), line) for index, line in enumerate(above)]
    (only,) = sections(laid_out(([*texts, *in_columns(COLUMNS, BALANCE)], [])))
    assert "".join(only.text[one.start : one.end] for one in only.headings) == heading


def test_a_title_in_cells_of_its_own_names_no_column() -> None:
    texts = [(60, 85, "Table 3"), (250, 85, "Sales"), *in_columns(COLUMNS, BALANCE)]
    assert "Cash | 2024: 1,200 | 2023: 900" in text_of(texts)


def test_a_label_above_the_first_figures_is_no_name() -> None:
    rows = [BALANCE[0], ["Assets", "", ""], *BALANCE[1:]]
    assert "Cash | 2024: 1,200 | 2023: 900" in text_of(in_columns(COLUMNS, rows))


def test_names_that_nearly_touch_stand_above_their_own_columns() -> None:
    rows = [["", "Graduates", "Others"], ["2024", "1,200", "900"], ["2023", "1,100", "800"], ["2022", "1,000", "700"]]
    assert "2024 | Graduates: 1,200 | Others: 900" in text_of(in_columns([60, 200, 254], rows))


def test_a_name_in_a_part_of_its_column_names_it() -> None:
    rows = [["*Gas*", "", "*Air*", "*Water*"], ["Methane", "100", "", "5"], ["Benzene", "200", "", "6"]]
    across = [(60, y, 400, y) for y in (100, 118, 136, 154)]
    down = [(x, 100, x, 154) for x in (60, 200, 300, 400)] + [(230, 100, 230, 118)]
    text = text_of(in_columns([65, 205, 235, 305], rows, 113, 18), [*across, *down])
    assert "Gas: Methane | Air: 100 | Water: 5" in text


def test_rows_without_a_line_on_their_left_keep_their_labels() -> None:
    frame = [*grid([45, 410], [85, 155]), *((60, y, 400, y) for y in (90, 104, 119, 134, 150))]
    lines = [*frame, *((x, 90, x, 150) for x in (245, 345, 400)), (50, 85, 50, 155), (45, 90, 410, 90)]
    assert "Cash | 2024: 1,200 | 2023: 900" in text_of(in_columns(COLUMNS, BALANCE), lines)


def test_what_is_outside_of_the_page_or_written_from_right_to_left_is_in_no_table() -> None:
    outside = [(700, 115, "Secret"), *in_columns(COLUMNS, BALANCE)]
    assert "Cash | 2024: 1,200 | 2023: 900" in text_of(outside)
    assert "Secret" not in text_of(outside)
    font = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    hebrew = in_columns(COLUMNS, [["\u05e9\u05dc\u05d5\u05dd", *row[1:]] for row in BALANCE])
    (only,) = sections(laid_out((hebrew, []), font=font))
    assert " | " not in only.text


def test_a_numbered_caption_below_a_table_stands_above_its_rows() -> None:
    texts = [*paragraph(60, 40), *in_columns(COLUMNS, BALANCE), (60, 175, "Table 2: Assets")]
    (only,) = sections(laid_out((texts, [])))
    assert only.text.split("\n\n")[1].startswith("Table 2: Assets\nCash | 2024: 1,200")


def test_a_header_belongs_to_all_columns_in_whose_middle_it_stands() -> None:
    rows = [
        ["", "2024", "2023", "2024", "2023"],
        ["Shoes", "10", "20", "30", "40"],
        ["Hats", "11", "21", "31", "41"],
        ["Bags", "12", "22", "32", "42"],
    ]
    above: list[Text] = [(215, 85, "Sold"), (395, 85, "Returned")]
    assert "Shoes | Sold 2024: 10 | Sold 2023: 20 | Returned 2024: 30 | Returned 2023: 40" in text_of(
        [*above, *in_columns([60, 180, 260, 370, 450], rows)]
    )


def test_cells_between_lines_keep_their_lines_together() -> None:
    texts = [(65, 112, "*Type*"), (205, 112, "*Meaning*")]
    texts += [
        (65, 132, "Likert scale"),
        (205, 132, "An ordered set of discrete terms from"),
        (205, 144, "which one is chosen"),
    ]
    texts += [(65, 162, "Checklist"), (205, 162, "A choice of Yes and No")]
    assert text_of(texts, grid([60, 200, 450], [100, 118, 150, 170])) == (
        "Type: Likert scale | Meaning: An ordered set of discrete terms from which one is chosen\n"
        "Type: Checklist | Meaning: A choice of Yes and No"
    )


def test_a_word_broken_at_the_end_of_a_line_in_a_cell_is_whole() -> None:
    texts = [
        (65, 112, "*Type*"),
        (205, 112, "*Meaning*"),
        (65, 132, "Scale"),
        (205, 132, "An ordered set of dis\u00ad"),
    ]
    texts += [(205, 144, "crete terms"), (65, 162, "Checklist"), (205, 162, "A choice")]
    assert "Meaning: An ordered set of discrete terms" in text_of(texts, grid([60, 200, 450], [100, 118, 150, 170]))


def test_a_cell_of_several_rows_is_named_in_each() -> None:
    texts = [(65, 112, "*Sex*"), (165, 112, "*Year*"), (265, 112, "*Count*")]
    texts += [(65, 145, "Women"), (165, 132, "1996"), (265, 132, "14"), (165, 152, "2001"), (265, 152, "17")]
    lines = grid([60, 160, 260, 360], [100, 118, 158])
    assert text_of(texts, [*lines, (160, 138, 360, 138)]) == (
        "Sex: Women | Year: 1996 | Count: 14\nSex: Women | Year: 2001 | Count: 17"
    )


def test_lines_between_the_columns_of_the_header_alone_divide_all_rows() -> None:
    rows = [["*Country*", "*Domestic*", "*Total*"], ["Austria", "92.9", "5,821"], ["Malta", "97.8", "91"]]
    across = [(60, y, 400, y) for y in (100, 118, 136, 154)]
    down = [(x, 100, x, 118) for x in (60, 200, 300, 400)]
    assert text_of(in_columns([65, 205, 305], rows, 113, 18), [*across, *down]) == (
        "Country: Austria | Domestic: 92.9 | Total: 5,821\nCountry: Malta | Domestic: 97.8 | Total: 91"
    )


@pytest.mark.parametrize("y", [[90, 105, 152], [90, 152]])
def test_rows_that_no_lines_divide_are_told_apart_by_their_figures(y: list[float]) -> None:
    lines = grid([55, 245, 345, 400], y)
    assert "Cash | 2024: 1,200 | 2023: 900\nLand and buildings | 2024: 25,000" in text_of(
        in_columns(COLUMNS, BALANCE), lines
    )


def test_a_line_between_a_currency_and_its_amount_divides_no_cell() -> None:
    rows = [["", "", "2024", "2023"], ["Cash", "$", "1,200", "900"], *([row[0], "", *row[1:]] for row in BALANCE[2:])]
    lines = grid([55, 240, 265, 345, 400], [90, 104, 119, 134, 150])
    assert "Cash | 2024: $ 1,200 | 2023: 900" in text_of(in_columns([60, 250, 280, 350], rows), lines)


def test_the_lines_of_a_chart_are_no_table() -> None:
    labels = in_columns([65, 145], [["4,000", "Sales"], ["", ""], ["2,000", "Costs"], ["", ""], ["0", ""]], 105, 20)
    assert " | " not in text_of(labels, grid(range(60, 461, 80), range(95, 196, 20)))


def test_a_table_within_a_cell_is_read_once() -> None:
    outer = [(65, 115, "*Item*"), (305, 115, "*Detail*"), (65, 160, "Loan"), (65, 250, "Rent"), (305, 250, "None")]
    inner = in_columns([325, 405], [["*Year*", "*Sum*"], ["2024", "7"], ["2023", "8"]], 155, 18)
    text = text_of(
        [*outer, *inner], [*grid([60, 300, 520], [100, 125, 235, 260]), *grid([320, 400, 480], [142, 160, 178, 196])]
    )
    assert text.count("2024") == 1


def test_a_label_of_several_lines_belongs_to_one_row() -> None:
    rows = [["", "2024", "2023"], ["Cash, and what can be", "", ""], ["sold for cash", "7", "8"], *BALANCE[1:]]
    rows += [["Goods on their way to", "5", "6"], ["customers", "", ""], ["All", "9", "9"]]
    text = text_of(in_columns(COLUMNS, rows))
    assert "Cash, and what can be sold for cash | 2024: 7 | 2023: 8\n" in text
    assert "Goods on their way to customers | 2024: 5 | 2023: 6\n" in text


def test_a_currency_far_before_its_amount_belongs_to_it() -> None:
    rows = [
        ["", "", "2024", "", "2023"],
        ["Cash", "$", "1,200", "$", "900"],
        *([row[0], "", row[1], "", row[2]] for row in BALANCE[2:]),
    ]
    places = [60, 240, 275, 340, 375]
    assert "Cash | 2024: $ 1,200 | 2023: $ 900\nLand and buildings | 2024: 25,000" in text_of(in_columns(places, rows))


def test_a_currency_right_behind_a_label_belongs_to_the_amount() -> None:
    texts = [*in_columns(COLUMNS, BALANCE), (147, 130, "$")]
    assert "Land and buildings | 2024: $ 25,000 | 2023: 24,100" in text_of(texts)


def test_years_below_amounts_begin_another_table() -> None:
    flows = [
        ["", "Fiscal", "Fiscal"],
        ["(in millions)", "2020", "2019"],
        ["Sales", "7", "8"],
        ["Costs", "5", "6"],
        ["Profit", "2", "2"],
    ]
    assert text_of(in_columns(COLUMNS, [*BALANCE, *flows])).endswith(
        "Total | 2024: 26,200 | 2023: 25,000\n\n(in millions): Sales | Fiscal 2020: 7 | Fiscal 2019: 8\n"
        "(in millions): Costs | Fiscal 2020: 5 | Fiscal 2019: 6\n"
        "(in millions): Profit | Fiscal 2020: 2 | Fiscal 2019: 2"
    )


@pytest.mark.parametrize("unit", ["In Millions", "Dollars in thousands", "(in EUR)"])
def test_days_beside_a_unit_begin_another_table_and_days_beside_a_label_do_not(unit: str) -> None:
    days = [unit, "May 31, 2020", "May 26, 2019"]
    flows = [["Sales", "7", "8"], ["Costs", "5", "6"], ["Profit", "2", "2"]]
    assert text_of(in_columns(COLUMNS, [*BALANCE, days, *flows])).endswith(
        f"\n\n{unit}: Sales | May 31, 2020: 7 | May 26, 2019: 8\n{unit}: Costs | May 31, 2020: 5 | May 26, 2019: 6\n"
        f"{unit}: Profit | May 31, 2020: 2 | May 26, 2019: 2"
    )
    due = [*BALANCE[:3], ["Due", "May 31, 2020", "May 26, 2019"], *BALANCE[3:]]
    assert "Due | 2024: May 31, 2020 | 2023: May 26, 2019\nTotal | 2024: 26,200" in text_of(in_columns(COLUMNS, due))
    for first, second in (("250 of 2020", "1.5 in 2019"), ("all but a few 2020", "all but a few 2019")):
        others = [*BALANCE[:3], [unit, first, second], *BALANCE[3:]]
        assert f"{unit} | 2024: {first} | 2023: {second}\nTotal" in text_of(in_columns(COLUMNS, others))


def test_a_header_that_names_only_some_columns_of_amounts_names_none() -> None:
    rows = [["", "2024", ""], *BALANCE[1:]]
    assert text_of(in_columns(COLUMNS, rows)).startswith("2024\nCash | 1,200 | 900\n")


@pytest.mark.parametrize(
    "names", [("2024 vs. 2023", "2023 vs. 2022"), ("12/31/2024", "6/30/2024"), ("Q1 2024 (1)", "Q2 2024")]
)
def test_periods_and_dates_are_names(names: tuple[str, str]) -> None:
    first, second = names
    assert f"Cash | {first}: 1,200 | {second}: 900" in text_of(in_columns(COLUMNS, [["", *names], *BALANCE[1:]]))


def test_labels_below_each_other_are_no_paragraph() -> None:
    labels = [
        "Purchases of short-term investments abroad",
        "Maturities of short-term investments abroad",
        "Sales of short-term investments abroad",
    ]
    rows = [["", "2024", "2023"], *([label, "7", "8"] for label in labels)]
    text = text_of([*in_columns([60, 300, 400], rows), (60, 160, "and of all of these")])
    assert all(f"{label} | 2024: 7 | 2023: 8" in text for label in labels)


def test_the_last_line_of_a_table_is_no_caption_of_the_next() -> None:
    other = [[*row[:2], row[2]] for row in BALANCE]
    texts = [*in_columns(COLUMNS, [*BALANCE, ["Unaudited", "", ""]]), *in_columns(COLUMNS, other, 300)]
    (only,) = sections(laid_out((texts, [])))
    assert only.text.count("Cash | 2024: 1,200 | 2023: 900") == 2
    assert is_heading_list(only.headings, len(only.text))


def test_a_page_without_tables_may_hold_the_sign_that_stands_for_one() -> None:
    text = "A sign \ue001 of its own"
    assert page_section(text, 1, [], None) == (Section(text, page=1), None)


def test_units_are_names_and_no_figures() -> None:
    rows = [["Loan type", "$000's", "(n = 46)"], *BALANCE[1:]]
    assert "Loan type: Cash | $000's: 1,200 | (n = 46): 900" in text_of(in_columns(COLUMNS, rows))


def test_dots_that_lead_to_a_figure_are_left_out() -> None:
    rows = [[row[0], *row[1:]] for row in BALANCE]
    led = [
        (130, 115, ". . . . . . . . . . . . ."),
        (60, 160, "Sum......................"),
        (250, 160, "1"),
        (350, 160, "2"),
    ]
    text = text_of([*in_columns(COLUMNS, rows), *led])
    assert "Cash | 2024: 1,200 | 2023: 900" in text
    assert "Sum | 2024: 1 | 2023: 2" in text


def test_running_text_in_the_other_column_of_a_page_is_no_part_of_a_table() -> None:
    left = [(30, 95 + 13 * index, line) for index, line in enumerate((*PROSE, *PROSE))]
    text = text_of([*left, *in_columns([380, 480, 540], BALANCE, 100, 14)])
    assert text.count(" ".join(PROSE)) == 2
    assert "Land and buildings | 2024: 25,000 | 2023: 24,100" in text


@pytest.mark.parametrize(
    "texts",
    [
        [*paragraph(30, 100), *((320, y, line[:45]) for _, y, line in paragraph(320, 100))],  # two columns
        in_columns([60, 75], [["-", f"item {number} of the list"] for number in range(6)]),
        in_columns([60, 200], [["2 cups of flour"], ["Bake it."], ["10", "minutes"], ["Serve."], ["Eat it."]]),
        in_columns([60, 250], [["Name", "Place"], ["Anna", "Oslo"], ["Ben", "Rome"], ["Cleo", "Bern"]]),  # no figures
        in_columns([60, 250], [[figure, figure] for figure in ("450", "400", "350", "300")]),  # axes of two charts
        in_columns([60, 100, 140], [["A", "12", f"{PROSE[0]} anyway"]] * 4),
        in_columns([60, 150, 240, 330, 420], [["A", "1"], ["B", "", "2"], ["C", "", "", "3"], ["D", "", "", "", "4"]]),
    ],
)
def test_what_is_no_table_of_figures_stays_text(texts: list[Text]) -> None:
    assert " | " not in text_of(texts)


def test_a_table_goes_on_at_the_top_of_the_next_page() -> None:
    more = [["Goods", "5", "6"], ["Tools", "7", "8"], ["Cars", "9", "10"]]
    first, second = sections(laid_out((in_columns(COLUMNS, BALANCE), []), (in_columns(COLUMNS, more), [])))
    assert second.text.startswith("Goods | 2024: 5 | 2023: 6")
    cells = [*(first.extra or {})[CELLS], *(second.extra or {})[CELLS]]
    assert {table for table, *_ in cells} == {0}
    assert {row for _, row, *_ in cells} == {1, 2, 3, 4, 5, 6}


def test_tables_of_other_columns_or_below_text_are_tables_of_their_own() -> None:
    other = [["", "2022", "2021"], *BALANCE[1:]]
    with_text = [*paragraph(60, 40), *in_columns(COLUMNS, BALANCE)]
    found = sections(
        laid_out(*((texts, []) for texts in (with_text, in_columns(COLUMNS, other), with_text, with_text)))
    )
    wider = in_columns(
        [60, 250, 350, 450], [["Goods", "5", "6", "7"], ["Tools", "7", "8", "9"], ["Cars", "9", "10", "11"]]
    )
    assert sections(laid_out((in_columns(COLUMNS, BALANCE), []), (wider, [])))[1].text.startswith("Goods | 5 | 6 | 7")
    assert [{table for table, *_ in (one.extra or {})[CELLS]} for one in found] == [{0}, {1}, {2}, {3}]


def test_text_that_runs_upwards_is_no_row() -> None:
    data = laid_out((in_columns(COLUMNS, BALANCE), []), turned=[(40, 150, "in thousands")])
    (only,) = sections(data)
    assert "Cash | 2024: 1,200 | 2023: 900" in only.text
    assert "in thousands" in only.text


def test_names_that_run_upwards_name_their_columns() -> None:
    rows = [["*Right*", "", ""], ["Read", "X", "-"], ["Write", "-", "X"]]
    lines = grid([60, 160, 200, 240], [50, 118, 136, 154])
    data = laid_out(
        (in_columns([65, 175, 215], rows, 113, 18), lines), turned=[(180, 110, "All users"), (220, 110, "Owner")]
    )
    (only,) = sections(data)
    assert only.text == "Right: Read | All users: X | Owner: -\nRight: Write | All users: - | Owner: X"


def test_no_word_is_lost_and_no_figure_changes_its_row() -> None:
    """Whatever stands in the cells, and whichever are empty."""
    random = Random(7)
    for _ in range(40):
        count, columns = random.randint(3, 12), random.randint(2, 6)
        rows = [[f"Row{index}", *(_cell(random) for _ in range(columns))] for index in range(count)]
        text = text_of(in_columns([50 + 80 * index for index in range(columns + 1)], rows))
        for row in rows:
            for cell in filter(None, row):
                assert cell in text, (cell, text)
            (line,) = [line for line in text.split("\n") if row[0] in line.replace("|", "").split()] or [""]
            if " | " in line:
                assert [part.rpartition(": ")[2] for part in line.split(" | ")] == [one for one in row if one]


def _cell(random: Random) -> str:
    return random.choice(["", "-", f"{random.randint(0, 9_999):,}", f"{random.random():.2f} %", "n/a"])


def test_the_row_of_a_quote_is_marked_on_its_page() -> None:
    data = laid_out((in_columns(COLUMNS, BALANCE), []))
    found = place_quote(
        data, 1, "Land and buildings | 2024: 25,000 | 2023: 24,100\nTotal | 2024: 26,200 | 2023: 25,000"
    )
    assert found
    first, second = found.rectangles
    left, right = first.left * found.width, first.right * found.width
    assert (left, right) == pytest.approx((60, 380), abs=4)
    assert (first.top * found.height, second.top * found.height) == pytest.approx((122, 137), abs=4)
    assert place_quote(data, 1, "Land and buildings | 2024: 25,000 | 2023: 24,101") is None
    assert place_quote(data, 1, "Total | 2024: 26,200") is None
    twice = laid_out(([*in_columns(COLUMNS, BALANCE), *in_columns(COLUMNS, BALANCE, 300)], []))
    assert place_quote(twice, 1, "Total | 2024: 26,200 | 2023: 25,000") is None


def test_beyond_so_many_characters_tables_stay_text(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (in_columns(COLUMNS, BALANCE), [])
    monkeypatch.setattr(reader, "_MOST_SEARCHED", 50)
    first, second = sections(laid_out(page, page))
    assert " | " in first.text
    assert " | " not in second.text


def test_a_page_that_is_full_of_words_and_lines_is_read_in_bounded_time() -> None:
    random = Random(3)
    texts = [(random.uniform(0, 590), random.uniform(0, 840), f"{random.randint(0, 99)}") for _ in range(3_500)]
    few = grid(*(sorted(random.uniform(0, 590) for _ in range(500)) for _ in range(2)))
    many = [(x, y, x + 4, y) for x, y in ((random.uniform(0, 590), random.uniform(0, 840)) for _ in range(9_000))]
    for lines in (few, many):
        data = laid_out((texts, lines), size=2)
        with bounded():
            sections(data)

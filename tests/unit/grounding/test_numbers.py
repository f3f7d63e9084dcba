"""Which figures of a claim its passages do not state: false alarms are as wrong as misses."""

import pytest

from grounding.numbers import missing_figures, stated

DE = "Die Brücke wurde am 03.05.1921 eröffnet, ist zwölf Meter breit und hat 1.200 Lampen; sie kostete 2,5 Millionen."
ZH = "这座桥于1921年5月3日建成，宽十二米，造价二百五十万元，约有1.2万名工人参加。"


def missing(claim: str, text: str, question: str = "") -> list[str]:
    return missing_figures(claim, text, question, text)


@pytest.mark.parametrize(
    ("claim", "text", "gone"),
    [
        # it may stand there in another form
        ("It is 5%.", "It is 5 percent.", []),
        ("It is 5 percent.", "It is five per cent.", []),
        ("It is 50%.", "It is half of them.", []),
        ("It is 1.5 percent.", "It is 1½ %.", []),
        ("Take 2.5 tablets.", "Take two and a half tablets.", []),
        ("It is 15%.", "The ratio is 0.15.", []),
        ("It costs £1.2m.", "It costs £1,200,000.", []),
        ("The deficit was $3.2 trillion.", "The deficit was $3.2 trillion.", []),
        ("There are 12 million of them.", "Table (in millions): 12", []),
        ("World War 2 ended.", "World War II ended.", []),
        ("It opens at 17:00.", "It opens at 5 p.m.", []),
        ("It opens at 12:00.", "It opens at noon.", []),
        ("It is open from 09:30.", "It is open from 9.30 to 11 am.", []),
        ("It opens at 9 am.", "It opens at 9 p.m.", ["9:00 am"]),
        ("It opens at 9:30 pm.", "It opens at 9.30 am and closes at 5 pm.", ["9:30 pm"]),
        ("It opens at 9 am.", "It opens at 21:00.", ["9:00 am"]),
        ("It opens at 9 am.", "It is open from 9 to 11:30 am, and from 7 to 9 pm.", []),
        ("It closes at 12 am.", "It closes at 12:00.", []),
        ("It was built in the 1920s.", "It was built in 1923.", []),
        ("It was built in the 20th century.", "It was built in 1923.", []),
        ("It was built in the 1900s.", "It was built in 1923.", []),
        ("It lasts 12 months.", "It lasts a year.", []),
        ("It lasts 90 minutes.", "It lasts 1.5 hours.", []),
        ("It is 1,000 m long.", "It is 1 km long.", []),
        ("It weighs 500 mg.", "It weighs 0.5 g.", []),
        ("It takes 1 hour.", "It takes an hour.", []),
        ("About 60 came.", "59 people came.", []),
        ("It is nearly 2.5 million.", "It is 2,483,000.", []),
        ("It weighs 180.2 g.", "It weighs 180.16 g.", []),
        ("The 3 causes are heat, salt and wind.", "Heat, salt, wind.", []),
        ("These are the 4 rules of the house: pay rent", "Pay rent.", []),
        ("CO2 is emitted.", "Carbon dioxide is emitted.", []),
        ("It is so [1] and so [12].", "It is so and so.", []),
        # it stands nowhere
        ("It was built in the 1930s.", "It was built in 1923.", ["1930"]),
        ("It seats 1201.", "It seats 120¹ people.", ["1201"]),  # the number of a note
        ("It is 11%.", "It is 1½%.", ["11"]),
        ("It costs 59 million.", "It costs 59 thousand.", ["59"]),
        ("It costs $3.2bn.", "It costs $3.2 million.", ["3.2"]),
        ("It costs $3.2m.", "It costs $3.2bn.", ["3.2"]),
        ("It lasts 3 weeks.", "It lasts 3 months.", ["3"]),
        ("It lasts 3 weeks.", "It lasts 3 months; the first 21 days are free.", []),
        ("It began on 3 June 2021.", "It began on 3 May 2021.", ["3 June"]),
        ("It began in May 2024.", "It began in July 2024 and ended on 3 March 2025.", ["May 2024"]),
        ("It was open in August 2024.", "It was open from June to September 2024.", []),
        ("It was open in January 2024.", "It was open from November 2023 to March 2024.", []),
        ("About 70 came.", "59 people came.", ["70"]),
        ("Pay no later than 29 days after.", "Pay within 30 days.", ["29"]),
        ("It takes more than 29 days.", "It takes 30 days.", []),
        ("GPT-4 did it.", "GPT-3 did it.", ["4"]),
        ("It is version 1.2.4.", "It is version 1.2.3.", ["1.2.4"]),
        ("In 1998 and 1999 it paid 7.", "In 1998 it paid 6.", ["1999", "7"]),
        # an amount in words is missing where it is stated of another unit, or another of its unit
        ("It lasts three weeks.", "It lasts three months.", ["3"]),
        ("Give one week's notice.", "Give one month's notice.", ["1"]),
        ("It has a six-week term.", "It has a six-month term.", ["6"]),
        ("The two weeks are paid.", "A couple of weeks are paid within two months.", []),
        ("It is paid every one week.", "It is paid each week for one month.", []),
        ("It runs for ten years.", "It runs for five years.", ["10"]),
        ("It ran for five years.", "It ran from 2015 to 2020.", []),
        ("More than a million came.", "1.2 million people came.", []),
        # in other languages
        ("It is open until 9:30 p.m.", "Le magasin est ouvert tous les jours jusqu'à 21 h 30.", []),
        ("Das Haus wurde im Mai 2024 eröffnet.", "Das Haus wurde im Juli 2024 eröffnet.", ["May 2024"]),
        ("La casa estuvo abierta en agosto de 2024.", "Estuvo abierta de junio a septiembre de 2024.", []),
        ("The house was opened in May 2024.", "Das Haus wurde im Mai 2024 eröffnet.", []),
        ("Die Frist beträgt drei Wochen.", "Die Frist beträgt drei Monate.", ["3"]),
        ("The term is three weeks.", "Die Frist beträgt für alle drei Monate.", ["3"]),
        ("Das Amt öffnet um 9:30 Uhr.", "Das Amt ist ab 9.30 Uhr geöffnet.", []),
        ("Die Brücke wurde am 4. Mai 1921 eröffnet.", DE, ["4"]),
        ("Die Brücke kostete 3,5 Millionen Mark.", DE, ["3500000"]),
        ("Revenue rose to 3.2 billion euros in 2022.", "Der Umsatz stieg im Jahr 2022 auf 3,2 Milliarden Euro.", []),
        (
            "Revenue rose to 3.2 billion euros in 2022.",
            "Le chiffre d'affaires a atteint 3,2 millions d'euros en 2022.",
            ["3200000000"],
        ),
        ("Der Umsatz stieg auf 3,2 Billionen.", "Group revenue rose to 3.2 billion.", ["3200000000000"]),
        ("Der Umsatz stieg auf 3,2 Billionen Euro.", "Group revenue rose to 3.2 trillion euros in 2022.", []),
        ("这座桥宽12米，造价250万元。", ZH, []),
        ("这座桥宽13米。", ZH, ["13"]),
        ("Le trajet prend une heure.", "Die Fahrt dauert eine Stunde und die Pause 20 Minuten.", []),  # an article
        ("Мост имеет ширину 12 метров.", "Этот мост имеет ширину двенадцать метров и открыт для всех.", []),
        ("Мост имеет 1200 ламп.", "Этот мост имеет ширину двенадцать метров и открыт для всех.", ["1200"]),
    ],
)
def test_a_figure_is_missing_that_stands_in_no_form_in_the_text(claim: str, text: str, gone: list[str]) -> None:
    assert missing(claim, text) == gone


@pytest.mark.parametrize(
    ("claim", "text", "question", "gone"),
    [
        ("In 2021 it emitted 59 Gt.", "In 2019 it emitted 59 Gt.", "How much in 2021?", ["2021"]),
        ("In 2021 it emitted 59 Gt.", "It emitted 59 Gt.", "How much in 2021?", []),
        ("In 2021, unlike 2019, it paid.", "In 2019 it emitted 59 Gt.", "How much in 2021?", []),
        ("In 1995 it was banned.", "It has been banned since 1990.", "Was it banned in 1995?", []),
        ("The lease runs for 10 years.", "The lease runs for five years.", "Does it run for 10 years?", ["10"]),
        ("No, the lease does not run 10 years.", "The lease runs five years.", "Does it run 10 years?", []),
        ("You pay nothing 10 days before.", "Until 7 days before, it is free.", "What do I pay 10 days before?", []),
        ("It is closed on 3 June 2021.", "It is open until 3 May 2021.", "Is it open on 3 June 2021?", []),
        ("In June 2021 it is closed.", "It is open until 3 May 2021.", "Is it open in June?", []),
        # nor in a language that is not read
        ("En 2021 fueron 59 Gt.", "En el año 2019 fueron 59 Gt para todos ellos.", "¿Cuánto fue en 2021?", []),
        ("A family of 4 pays 20 euros.", "A family pays 20 euros.", "What does a family of 4 pay?", []),
    ],
)
def test_a_figure_of_the_question_is_missing_only_where_another_is_stated_instead(
    claim: str, text: str, question: str, gone: list[str]
) -> None:
    assert missing(claim, text, question) == gone


SENTENCES = (
    "According to the report, it was {} in the second section.",
    "Laut dem Bericht waren es {} im zweiten Abschnitt.",
    "Selon le rapport, c'était {} dans la deuxième section.",
    "Según el informe, era {} en la segunda sección.",
    "根据报告，该值为{}，见第二节。",
)


@pytest.mark.parametrize(
    ("same", "other"),
    [
        (
            ("two weeks", "14 Tage", "quatorze jours", "dos semanas", "十四天"),
            ("twenty days", "drei Wochen", "vingt jours", "20 días", "三周"),
        ),
        (
            ("90 minutes", "anderthalb Stunden", "une heure et demie", "1,5 horas", "一个半小时"),
            ("two and a half hours", "80 Minuten", "deux heures et demie", "dos horas y media", "两个半小时"),
        ),
        (
            ("42 months", "dreieinhalb Jahre", "trois ans et demi", "tres años y medio", "三年半"),
            ("five years", "fünfeinhalb Jahre", "cinq ans et demi", "43 meses", "五年半"),
        ),
        (
            ("45 minutes", "eine Dreiviertelstunde", "trois quarts d'heure", "cuarenta y cinco minutos", "四十五分钟"),
            ("half an hour", "fünfzig Minuten", "un quart d'heure", "55 minutos", "五十分钟"),
        ),
        (
            ("2,000 g", "zwei Kilogramm", "deux kilos", "2 kilogramos", "两公斤"),
            ("three kilograms", "3.000 g", "trois kilos", "tres kilogramos", "三公斤"),
        ),
        (
            ("850 million dollars", "850 Mio. Dollar", "850 millions de dollars", "850 millones", "八亿五千万美元"),
            ("950 million dollars", "950 Mio. Dollar", "950 millions de dollars", "950 millones", "九亿五千万美元"),
        ),
        (
            ("30%", "dreißig Prozent", "trente pour cent", "30 por ciento", "百分之三十"),
            ("31%", "vierzig Prozent", "31 pour cent", "31 por ciento", "百分之三十一"),
        ),
    ],
)
def test_amounts_are_compared_by_value_in_five_languages(same: tuple[str, ...], other: tuple[str, ...]) -> None:
    texts, others = (list(map(str.format, SENTENCES, amounts)) for amounts in (same, other))
    assert [(one, text) for one in texts for text in texts if missing(one, text)] == []
    assert [(one, text) for one in others for text in texts if not missing(one, text)] == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("a fortnight", "14"),
        ("a dozen", "12"),
        ("two dozen", "24"),
        ("3k", "3000"),
        ("12 am", "0"),
        ("10³", "10"),
    ],
)
def test_numbers_in_many_forms(text: str, number: str) -> None:
    assert number in stated(text)

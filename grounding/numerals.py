"""Read numbers as several languages write them: in words, with separators, with words such as million."""

import re
from collections.abc import Set
from decimal import Decimal

from grounding.stems import figures, fold, normal, plain_figure, times

WORDS = frozenset({"de", "en", "es", "fr", "it", "nl", "pt"})  # languages whose number words are read
READ = WORDS | {"zh", "ja"}
GROUPED = re.compile(r"(?<![\d.,])(?<!\d[ '’])\d{1,3}([.'’ ])\d{3}(?:\1\d{3})*(?![\d.])")  # 1.234.567, 1 234
AFTER_FIGURE = re.compile(r"(?<=\d)[\s-]*((?:mil )?[^\W\d_]{3,20})")  # mil millones are 10^9
# By text_to_num: billion, in lower case, is English and not the German Billion, whose plural it does not know.
MISREAD = {("de", "billion"): str(10**9), ("de", "Billionen"): str(10**12), ("es", "billones"): str(10**12)}
HALVES = re.compile(r"[\ud800-\udfff]")  # of surrogate pairs, which the library cannot take
PART = re.compile(r"(?s:.{1,5000}(?!\w)|.{1,5000})")
SCALED = re.compile(r"(?<![\d.,])(\d{1,30}(?:[.,]\d{1,10})?)\s+(1(?:000){1,5})(?!\d)")
FIGURE_BEFORE = r"(?<![\d.])\d{1,30}(?:\.\d{1,10})?"
CHINESE_SCALED = re.compile(rf"{FIGURE_BEFORE}[十百千万亿]{{1,4}}")
CHINESE = re.compile(rf"(?:{FIGURE_BEFORE})?[〇零一二两三四五六七八九十百千万亿]{{1,30}}")
NUMERALS = {numeral: value for value, numeral in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2}
UNITS = {"十": 10, "百": 100, "千": 1000}
MYRIADS = {"万": 10**4, "亿": 10**8}


def numbers(text: str) -> set[str]:
    """Return the numbers that an English text states: in digits, in words, as ``2.5 million``, as ``1 000``."""
    return figures(text) | figures(in_digits(fold(text).replace("-", " "), {"en"}))


def in_digits(text: str, languages: Set[str]) -> str:
    """Return the text with each number in digits that one of the languages writes in words."""
    text = CHINESE.sub(_from_chinese, figures_in_full(text, languages))
    for language in sorted(languages & WORDS):
        text = _read(text, language)
    return text


def _read(text: str, language: str) -> str:
    """Return the text with its number words in digits. It is read in parts, as the time for each is quadratic."""
    from text_to_num import alpha2digit

    return "".join(alpha2digit(part, language, 0.0) for part in PART.findall(HALVES.sub(" ", text)))


def figures_in_full(text: str, languages: Set[str]) -> str:
    """Return the text with each figure that has separators or a scale in plain digits: 1.234, 2,5 Millionen, 3万."""
    from text_to_num import alpha2digit

    text = CHINESE_SCALED.sub(_from_chinese, GROUPED.sub(lambda match: re.sub(r"\D", "", match.group()), normal(text)))
    for language in sorted(languages & WORDS):
        words = {
            word: MISREAD.get((language, word)) or alpha2digit(HALVES.sub(" ", word), language, 0.0)
            for word in set(AFTER_FIGURE.findall(text))
        }
        text = AFTER_FIGURE.sub(lambda match, read=words: f" {read[match[1]]}", text)  # type: ignore[misc]
    return SCALED.sub(lambda match: times(match[1], int(match[2])), text)


def _from_chinese(match: re.Match[str]) -> str:
    """Return a Chinese numeral, perhaps after a figure, in digits: 一百二十三, 二〇一九, 2.5亿."""
    figure = re.match(r"[\d.]*", match.group())[0]  # type: ignore[index]
    numerals = match.group()[len(figure) :]
    if all(one in NUMERALS for one in numerals):
        return figure + "".join(str(NUMERALS[one]) for one in numerals)
    total, section, number = Decimal(0), Decimal(0), Decimal(figure or 0)
    for one in numerals:
        if one in NUMERALS:
            number = Decimal(NUMERALS[one])
        elif one in UNITS:
            section, number = section + (number or Decimal(1)) * UNITS[one], Decimal(0)
        else:
            below = section + number
            total = total + below * MYRIADS[one] if below else (total or Decimal(1)) * MYRIADS[one]
            section, number = Decimal(0), Decimal(0)
    return plain_figure(f"{total + section + number:f}")

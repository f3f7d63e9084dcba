"""Rewrite amounts in five languages in one form: in digits, with the English name of the unit."""

import re
from collections.abc import Callable
from functools import lru_cache

from grounding.numerals import in_digits

# In English; in German, French and Spanish; in Chinese.
UNIT_WORDS = (
    ("seconds", "sekunden?|secondes?|segundos?", "秒"),
    ("minutes", "minuten?|minutos?", "分钟"),
    ("hours", "stunden?|heures?|horas?", "小时|钟头"),
    ("days", "tage?[ns]?|jours?|días?", "天"),
    ("weeks", "wochen?|semaines?|semanas?", "周|星期"),
    ("months", "monate?[ns]?|mois|mes(?:es)?", "个月"),
    ("years", "jahre?[ns]?|ans?|années?|años?", "(?<![0-9]{4} )年"),
    ("kilometres", "kilometern?|kilomètres?|kilómetros?", "公里|千米"),
    ("centimetres", "zentimetern?|centimètres?|centímetros?", "厘米"),
    ("millimetres", "millimetern?|millimètres?|milímetros?", "毫米"),
    ("metres", "metern?|mètres?|metros?", "米"),
    ("kilograms", "kilogramm|kilogrammes?|kilogramos?|kilos?", "公斤|千克"),
    ("grams", "gramm|grammes?|gramos?", "克"),
    ("tonnes", "tonnen?|toneladas?", "吨"),
    ("litres", "litern?|litros?", "升"),
    ("percent", "prozent|pour ?cent|por ciento", "个百分点"),
)


def _form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


UNIT = "|".join(rf"(?P<{name}>(?:{words})\b|{unspaced})" for name, words, unspaced in UNIT_WORDS)
ANY_UNIT = rf"(?:{re.sub('[?]P<[a-z]+>', '?:', UNIT)}|hour|day|month|year|minute)"
AN_HOUR = r"(?:hour|hora|heure|stunde)\b"
IN_WORDS = (
    (_form(rf"\b(?:three[ -]quarters of an |tres cuartos de |trois quarts d['’]|dreiviertel){AN_HOUR}"), "45 minutes"),
    (_form(rf"\b(?:quarter of an |cuarto de |quart d['’]|viertel){AN_HOUR}|一刻钟"), "15 minutes"),
    (_form(r"\b(?:anderthalb|eineinhalb)\b"), "1.5"),
    (_form(r"(?<=[^\W\d_])(?:und)?einhalb\b"), " und einhalb"),
    (_form(rf"\b(?:half an?|halbe[ns]?|media|(?:une )?demi-)\s*(?={ANY_UNIT})|(?<!个)半(?={ANY_UNIT})"), "0.5 "),
    (_form(r"\b(?:pour cent|por ciento)\b"), "percent"),
    (_form(r"(?<=[a-z])-(?=(?:minute|hour|day|week|month|year)s?\b)"), " "),
    (_form(r"\b(?:viertel|un quart|un cuarto)\b|四分之一"), " quarter "),
    (_form(r"\b(?:hälfte|moitié|mitad)\b|二分之一|半数"), " half "),
)
IN_DIGITS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?<=[\u4e00-\u9fff])(?=\d)|(?<=\d)(?=[\u4e00-\u9fff])"), " "),
    (re.compile(r"100 分之 (\d+)"), r"\1%"),
    (re.compile(r"(?<![\d.,])(\d+) ?\(\1\)"), r"\1"),  # thirty (30) days
    (_form(r"(?<![\d.,])(\d+)(?: and a half\b| und einhalb\b| 个半)"), r"\1.5 "),
    (re.compile(r"(?<![\d.,])(\d+) ([年天])半"), r"\1.5 \2"),
    (_form(r"(?<=\d)\s?Mio\b\.?"), " million"),
    (_form(r"(?<=\d)\s?Mrd\b\.?"), " billion"),
    (_form(rf"(?<=\d)[\s-]*(?:个\s?)?(?:{UNIT})"), lambda match: f" {match.lastgroup} "),
    (_form(r"(?<![\d.,])(\d+)(\s+[a-z]+\s+)(?:et demie?|y medi[ao])\b"), r"\1.5\2"),
)


@lru_cache(maxsize=64)
def in_english_units(text: str, languages: frozenset[str]) -> str:
    """Return the text with its numbers in digits and its units in English: anderthalb Stunden is ``1.5 hours``.

    With several languages the text is repeated, each time with the number words of one language in digits.
    """
    for form, digits in IN_WORDS:
        text = form.sub(digits, text)
    return "\n".join(with_english_units(in_digits(text, {one})) for one in sorted(languages))


def with_english_units(text: str) -> str:
    """Return the text with the unit after each number in digits in English: 3 Wochen is ``3 weeks``."""
    for form, plain in IN_DIGITS:
        text = form.sub(plain, text)
    return text

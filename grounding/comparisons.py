"""Recognise questions that compare, count, add up or filter, which a query over a table answers, in five languages."""

import re

HOW_MANY = "how many|number of|wie viele|combien|cuánt[oa]s"
JOINTLY = (
    r"altogether|together|combined|between them|in all(?=\W*$)|insgesamt|zusammen|au total|en tout|ensemble|"
    "en total|junt[oa]s"
)
TOGETHER = f"in total|total|sum|adds? up|added up|(?:come|amount)s? to|summe|somme|suman?|{JOINTLY}"
BY_HOW_MUCH = "by how (?:much|many)|um wie ?viele?|de combien|en cuánto"
ON_AVERAGE = r"average|mean|median|durchschnitt\w*|mittelwert|moyenne?|en moyenne|promedio|media"
NO_SUPERLATIVES = (
    "inter|requ|for|harv|hon|mod|arr|cont|prot|dig|sugg|inv|pri|conqu|manif|inf|div|att|ing|(?:mid|north|south)w|"
    "budap|buchar|ever"
)
BEFORE_SUPERLATIVE = "am|der|die|das|de[mns]|zu[mr]|[bv]om|beim|im|mit|ist|sind|hat|welche[rsnm]?|de|het"
MOST = (
    "most|least|fewest|best|worst|maximum|minimum",
    rf"(?!(?:{NO_SUPERLATIVES})est\b)\w{{3,}}est",
    rf"meisten?|wenigsten|(?:{BEFORE_SUPERLATIVE}) (?:[^\W\d]+ )?(?-i:[a-zäöüß]{{3,}})ste[nrs]?",
    "(?:le|la|les) (?:plus|moins)",
    r"(?:el|la|los|las|que|qué) (?:\w+ )*(?:más|menos|mayor|menor)",
)
PERIOD = "(?:hour|day|night|week|month|quarter|half|year)s?"
POSITION = (
    rf"(?:first|second|third|last|top|final)(?! {PERIOD})",
    r"(?:ers|zwei|drit|letz)te[nrms]?",
    r"premi(?:er|ère)s?|deuxième|troisième|derni(?:er|ère)s?",
    r"(?:primer|segund|tercer)[oa]?s?|últim[oa]s?",
)
ASKED = "which|who|welche[rsnm]?|wer|quel(?:le)?s?|qui|qué|quién"
THAN = (
    r"more|less|fewer|higher|lower|larger|smaller|over|under|above|below|at (?:least|most)|between|exceed\w*",
    rf"all|(?:each|every)(?! {PERIOD})|list",
    BY_HOW_MUCH,
    rf"better|worse|\w{{3,}}er (?:than|als)|(?:{ASKED}|what|where|was|wo)\b[^?]*\w{{3,}}er\b[^?]*\b(?:or|oder)",
    r"(?:after|before|since|until|nach|vor|seit|bis|après|avant|depuis|después|antes|desde)(?: [^\W\d]+){0,2} \d+",
    r"mehr|weniger|höher|niedriger|größer|kleiner|über|unter|mindestens|höchstens|zwischen|alle|jede\w*",
    "plus|moins|supérieure?s?|inférieure?s?|entre|tou(?:te)?s|chaque",
    r"más|menos|superior\w*|inferior\w*|entre|tod[oa]s|cada",
)


def _compiled(words: str, unspaced: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b|{unspaced}", re.IGNORECASE)


LESS = _compiled(
    r"(?:cheap|few|low|small|short)(?:er|est)|less|(?<!at )least|"
    r"(?:billig|wenig|niedrig|klein|kürz)\w*|moins|menos|menor",
    "最少|最低|最小|最短|更少|更低",
)
ONE_OF_TWO = _compiled("or|oder|ou|o|u", "还是|或")
OF_FIGURE = re.compile(  # with a noun: the endings of most adjectives are excluded
    r"\b(?:(?:high|low|great|small|larg|few)er (?!than\b|or\b)[^\W\d]+|"
    r"(?:more|less) (?!than\b|or\b)[^\W\d]+(?<!ive|ble|ous|ful|ant|ent|ing)(?<!al|ic|ed|ly|ar|rn))\b",
    re.IGNORECASE,
)
RANKED = _compiled(
    r"(?:second|third|fourth|2nd|3rd|4th)[ -](?:\w+est|most|least|best|worst)|(?:zweit|dritt|viert)\w+ste[nrs]?|"
    r"(?:c[ao]me|finished|ranked|placed) (?:in )?(?:second|third|fourth|2nd|3rd|4th)|"
    r"(?:deuxième|troisième)s? (?:plus|moins)|(?:segund|tercer)[oa]?\b[^?]* (?:más|menos)",
    "第[二三四]",
)
WHICH = re.compile(rf"(?:{ASKED})\b", re.IGNORECASE)
OPEN_QUESTION = re.compile(
    rf"[¿\s]*(?:{ASKED}|{HOW_MANY}|what|why|where|how|wie|wo|wann|warum|comment|où|pourquoi|cómo|dónde)\b|"
    rf"(?:when|if|in|of|for|at|on|under|according|wenn|als|laut|quand|si|selon|cuando|según)\b[^?,]*, "
    rf"[¿\s]*(?:{HOW_MANY}|what|how|wie)\b",
    re.IGNORECASE,
)
UNIT_WORDS = "minutes|hours|days|weeks|months|years|met(?:re|er)s|km|miles|kilos|kg|pounds|euros?|dollars|points"
SUBTRACTED = rf"many more|much more|(?:many|much) (?:(?:{UNIT_WORDS}) )?(?:more|less|\w+er)\b[^?]* than|{BY_HOW_MUCH}"
DIFFERENCE = _compiled(rf"difference|Unterschied|Differenz|différence|diferencia|{SUBTRACTED}", "差")
COUNTED = _compiled(HOW_MANY, "几|多少")
ADDED = _compiled(TOGETHER, "总|共")
ADDED_JOINTLY = _compiled(JOINTLY, "共")
ORDERING = "|".join((SUBTRACTED, *MOST, *POSITION))
COMPUTED = _compiled("|".join((HOW_MANY, TOGETHER, ON_AVERAGE, ORDERING)), "最|多少|几|总|均|共|首|第一")
COMPARED = _compiled("|".join(THAN), "超|于|过|比|每|所有")
SUPERLATIVE = _compiled(f"(?<!at )(?:{'|'.join(MOST)})", "最")
ORDERED = _compiled(ORDERING, "最|差|首|第一")


def needs_all_rows(question: str) -> bool:
    """Whether the question asks for the most, the first, a count, sum, difference or mean, which takes all rows."""
    return COMPUTED.search(question) is not None


def suits_query(question: str) -> bool:
    """Whether the question `needs_all_rows`, compares or filters, rather than looks up what one row says."""
    return needs_all_rows(question) or filters(question)


def orders(question: str) -> bool:
    """Whether the question asks for the most, the first or a difference, which no row says by itself."""
    return ORDERED.search(question) is not None


def superlative(question: str) -> str:
    """Return the word by which the question asks for the most or the least; "" if none."""
    match = SUPERLATIVE.search(question)
    return match[0] if match else ""


def filters(question: str) -> bool:
    """Whether the question compares or filters."""
    return COMPARED.search(question) is not None


def asks_which(question: str) -> bool:
    """Whether the question begins with a word such as "which" or "who"."""
    return WHICH.match(question) is not None


def is_open_question(question: str) -> bool:
    """Whether the question begins with a word such as "which", "what" or "how many": no yes and no no answers it."""
    return OPEN_QUESTION.match(question) is not None


def asks_for_least(question: str) -> bool:
    """Whether the question asks for the least, or the lesser of two, and has no other word that compares."""
    rest = LESS.sub(" ", question)
    return rest != question and not suits_query(rest)


def asks_for_difference(question: str) -> bool:
    """Whether the question asks by how much two things differ."""
    return DIFFERENCE.search(question) is not None


def asks_for_next(question: str) -> bool:
    """Whether the question asks for the second or third of an order, not the first."""
    return RANKED.search(question) is not None


def names_alternatives(question: str) -> bool:
    """Whether the question asks for one of the things that it names, as in "A or B"."""
    return ONE_OF_TWO.search(question) is not None


def names_figure(question: str) -> bool:
    """Whether an English question names the figure by which it compares: "more seats", but not "more expensive"."""
    return OF_FIGURE.search(question) is not None


def asks_how_many(question: str) -> bool:
    """Whether the question asks how many there are."""
    return COUNTED.search(question) is not None


def counted_things(question: str) -> str:
    """Return the two words after "how many", which name what is counted; "" if nothing is counted."""
    match = COUNTED.search(question)
    return " ".join(question[match.end() :].split()[:2]) if match else ""


def asks_for_total(question: str) -> bool:
    """Whether the question asks for a sum or a count of all."""
    return ADDED.search(question) is not None


def adds_jointly(question: str) -> bool:
    """Whether the question asks for the sum of several things "together", and not for a figure called total."""
    return ADDED_JOINTLY.search(question) is not None

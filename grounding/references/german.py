"""How German questions refer back to earlier ones."""

from grounding.references.grammar import Grammar, cased, pattern

ASKS = r"""(?:warum|wieso|weshalb|wann|wo|wer|wen|wem|wessen|wie|was|welche[rsnm]?|wohin|woher|womit|wofür|wodurch|wozu
    |worin|woran)"""
VERB = r"""(?:bin|bist|ist|sind|war|waren|sei|wäre|hat|habe|haben|hatte|hatten|wird|werden|wurde|wurden|würde|kann
    |können
    |konnte|könnte|muss|müssen|musste|darf|dürfen|durfte|soll|sollen|sollte|will|wollen|wollte|mag|möchte|gibt|gilt
    |gelten
    |kostet|kosten|geht|heißt|bedeutet|liegt|steht|macht|dauert|braucht|zahlt|beträgt|enthält|lautet|funktioniert
    |bekommt|findet|tut)"""
PERIOD = r"""(?:jahr\w*|monat\w*|wochen?|tagen?|sommer\w*|winter\w*|herbst\w*|frühling\w*|quartal\w*|jahrhundert\w*|mal
    |dokumente?n?|dateien?|bibliothek|sammlung)"""

GERMAN = Grammar(
    words=frozenset(
        """der die das den dem des ein eine einen einem einer ist sind war waren was wie wann wo wer welche welcher
        welches welchen warum wieso kann darf muss soll und aber oder von zu im in für mit über auf es er sie sein seine
        ihr ihre dort dann nicht ich mein meine hat haben gibt wird auch denn noch viel viele bei nach aus dafür davon
        gilt kostet an man ohne""".split()
    ),
    letters="äöüß",
    filler=pattern(r"(?:(?:ok(?:ay)?|also|gut|danke|ach so|übrigens|bitte|ja|nein|na)\b[\s,.!;-]*)+(?=\w)"),
    opening=pattern(
        r"""(?:und|aber|oder|sondern|was ist mit|wie (?:ist|sieht|steht|wäre) (?:es|das) (?:\w+ )?(?:mit|bei|in|um
        |für|aus)
        |wie sieht|warum nicht|wieso nicht|dann|sonst|ansonsten|falls ja|falls nein|wenn ja|wenn nein|wenn nicht
        |in dem fall)\b"""
    ),
    ellipsis=pattern(
        rf"""(?:(?:seit|bis|ab|von|für|mit|zu|an|auf|bei|gegen|um|aus|in) )?{ASKS}(?: (?:genau|denn|dann|noch|so
        |nicht|auch|sonst|eigentlich|lange|viele?|oft|weit|alt|hoch|teuer|groß|früh|spät|schnell))*
        |wie viele? (?!{VERB}\b)\w+
        |welche[rsnm]? (?!{VERB}\b)\w+
        |welche[rsnm]? (?:davon )?(?:ist|sind|war|waren) (?:am \w+sten|(?:der|die|das) \w+ste[nr]?)
        |(?:bitte )?(?:erklär(?:e|en sie)?|erläutere?|weiter|fahre? fort)(?: (?:das|genauer|bitte|mehr|näher))*
        |wirklich"""
    ),
    phrase=pattern(
        r"""(?:in|im|für|mit|ohne|bei|beim|nach|vor|ab|seit|bis|wegen|trotz|während|auch|nur|nicht|sogar|selbst|der|die
        |das|eine?[nmrs]?|alle|keine?[nmrs]?|zum|zur|vom|am)\b"""
    ),
    verb=pattern(
        rf"""\b(?:{VERB}|{ASKS})\b
        |^(?:erklär|nenn|beschreib|definier|vergleich|übersetz|schreib|fass|list|zeig|erzähl|gib|berechn|find|stell
        |erläuter)\w*\b"""
    ),
    few=2,
    anaphor=pattern(
        r"""\b(?:dasselbe|derselbe|dieselben?|das gleiche|letztere\w*|erstere\w*|(?:was|wer|wo|wie) (?:noch|sonst)
        |sonst noch|mehr dazu|mehr darüber|davon)\b
        |\b(?:der|die|das|den) (?:andere|erste|zweite|letzte|nächste)[nr]?$|\b(?:ebenfalls|stattdessen)$
        |^(?!.*\bwenn\b).* dann$|\b(?:die|den|der|dem) [a-zäöüß]+en$"""
    ),
    expletive=pattern(
        rf"""\b(?:gibt|gab|gäbe|geht|ging|handelt|regnet|schneit|bedarf) es\b
        |\bes (?:gibt|gab|gäbe|geht|handelt|sei denn)\b|\bwie (?:spät|früh) ist es\b|\bkommt es\b(?= zu| auf)
        |\bes\b(?=[^?.]*(?:, (?:dass|ob|wenn)\b|\bzu \w+en\b|\w{{2,}}zu\w{{2,}}en\b))
        |\bda(?:r)?[a-zü]+(?=[^,?]*, (?:dass|ob|wie|wenn|was|warum|wer)\b)
        |, (?:damit|da|die|das|der|den|dem|deren|dessen)\b
        |\bdiese[rsnm]? {PERIOD}\b"""
    ),
    pronoun=cased(
        r"""\b(?:er|sie|es|ihn|ihm|ihnen|dort|dorthin|dafür|damit|daran|darauf|darin|darüber|dazu|danach|davor|dabei
        |dadurch|daraus|dagegen|daneben|darunter|hierzu|hierfür|dies|diese[rsnm]?|jene[rsnm]?|solche[rsnm]?)\b
        |(?<!, )\bdas\b(?!(?: [a-zäöüß]+(?:e|en|er|es|em)){0,2} [A-ZÄÖÜ0-9])"""
    ),
    possessive=cased(r"\b(?:sein(?:e[rsnm]?)?|ihr(?:e[rsnm]?)?|deren|dessen) (?:[a-zäöüß]+en? )?[A-ZÄÖÜ]"),
    clause=pattern(rf"[,;.!?()–—]|\b(?:und|oder|aber)(?= (?:{VERB}|{ASKS}|wenn)\b)"),
    noun=cased(r"(?<=[\wäöüß,] )(?!(?:Sie|Ihr\w*|Ihnen)\b)[A-ZÄÖÜ]\w+"),
)

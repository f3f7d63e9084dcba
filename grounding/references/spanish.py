"""How Spanish questions refer back to earlier ones."""

from grounding.references.grammar import Grammar, cased, pattern

ASKS = r"(?:qué|quién|quiénes|cuándo|dónde|adónde|cómo|cuánt[oa]s?|cuál|cuáles|por qué)"
VERB = r"""(?:es|son|era|eran|fue|fueron|está|están|ha|han|había|hay|puede|pueden|puedo|debe|deben|debo|tiene|tienen
    |hace|hacen|va|van|existe|existen|cuesta|cuestan|dura|significa|permite|sirve|pasa|quiero|necesito)"""
PERIOD = r"""(?:año|mes|semana|mañana|tarde|noche|fin de semana|verano|invierno|otoño|primavera|siglo|trimestre
    |momento|vez|días|documentos?|archivos?|biblioteca)"""

SPANISH = Grammar(
    words=frozenset(
        """el la los las un una unos de del es son era qué que cuál cuáles quién cómo cuándo dónde por cuánto cuánta
        cuántos cuántas puede debe y pero o para con sobre en su sus este esta esto ese esa eso allí no yo mi tiene hay
        se lo al está ella ellos fue a""".split()
    ),
    letters="áíóúñ",
    filler=pattern(r"(?:(?:ok|bueno|bien|gracias|vale|entonces|por cierto|por favor|sí|no)\b[\s,.!;¿¡-]*)+(?=\w)"),
    opening=pattern(
        r"(?:y|e|pero|o|u|sino|qué hay (?:de|con)|qué tal|por qué no|en ese caso|si no|si es así|lo mismo)\b"
    ),
    # Spanish often leaves out the subject, even as a pronoun.
    ellipsis=pattern(
        rf"""(?:(?:desde|hasta|para|por|con|de|a|en|sobre) )?{ASKS}(?: (?:exactamente|más|no|tiempo|dinero))*
        |cuánt[oa]s? [\w-]+
        |(?:(?:desde|hasta) )?(?:cuándo|dónde|de dónde|cómo|cuánto|cuánto tiempo|por qué
        |qué) (?:no )?(?:se )?[a-záéíóúñ]+
        |(?:es|son|está|están|fue|fueron|era|eran) [a-záéíóúñ]+
        |cuál(?:es)? (?:de ell[oa]s )?(?:es|son) (?:el|la|los|las) (?:más|menos) \w+
        |cuál(?:es)? de ell[oa]s|de verdad
        |(?:explica|explique|continúa|sigue)(?: (?:más|mejor))*"""
    ),
    phrase=pattern(
        r"""(?:en|para|con|sin|después|antes|durante|desde|hasta|sobre|a|al|de|del|por|contra|también|solo|sólo
        |incluso|el|la|los|las|una?|unos|unas|ningun[oa])\b"""
    ),
    verb=pattern(
        rf"""\b(?:{VERB}|{ASKS})\b
        |^(?:explica|define|describe|resume|traduce|compara|da|dame|cita|enumera|escribe|calcula|nombra|encuentra|dime
        |muestra)\w*\b"""
    ),
    few=2,
    anaphor=pattern(
        r"""\b(?:el otro|la otra|los otros|las otras|los demás|las demás|el primero|la primera|el segundo|la segunda
        |el último|la última|el mismo|la misma|los mismos|las mismas)$|\blo mismo\b(?! que)
        |\b(?:qué|quién|algo|alguien) más\b|\b(?:también|tampoco)$|\b(?:dime|cuéntame) más\b
        |\b(?!charl|carl)\w{2,}[aeiáéí]r(?:l[oa]s?|les?)\b
        |\blo (?!(?:que|cual|más|menos|mismo|mejor|peor|antes|bueno|malo|siento)\b)[a-záéíóúñ]+"""
    ),
    expletive=pattern(rf"\b(?:este|esta|estos|estas) {PERIOD}\b|\bpor eso\b|\bes decir\b|\beso sí\b"),
    pronoun=pattern(
        r"\b(?:él|ellas?|ellos|ello|eso|esto|aquello|allí|ahí|allá|es[eao]s?|est[eao]s?|aquel|aquell[oa]s?)\b"
    ),
    possessive=pattern(r"\bsus? \w"),
    clause=pattern(
        rf"""[,;.!?()–—]|\b(?:que|cuando|si|porque|mientras|aunque|después|antes|donde|sin)\b
        |\b(?:y|o|pero)(?= (?:{VERB}|{ASKS})\b)"""
    ),
    noun=cased(
        r"""\b(?:el|la|los|las|una?|unos|unas|del|al|mi|mis|nuestr[oa]s?|cada|tod[oa]s?|de|en|con|para|por|sin|sobre
        |entre|qué) (?!(?:el|la|los|las|lo|que|qué|su|sus|es[eao]s?|est[eao]s?|él|ellas?|ellos|es|son|era|fue|se|hay|más
        |allí|ahí)\b)\w{2,}
        |(?<=\w )[A-ZÁÉÍÓÚÑ]\w+"""
    ),
)

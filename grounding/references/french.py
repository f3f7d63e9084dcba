"""How French questions refer back to earlier ones."""

from grounding.references.grammar import Grammar, cased, pattern

ASKS = r"(?:pourquoi|quand|où|qui|comment|combien|quoi|que|qu|lequel|laquelle|lesquel(?:le)?s|quel(?:le)?s?)"
VERB = r"""(?:est|sont|était|étaient|sera|serait|a|ont|avait|peut|peuvent|peux|puis|doit|doivent|dois|faut|fait|font
    |va|vont|existe|existent|coûte|coûtent|dure|signifie|veut|permet|agit)"""
APPRAISED = r"""(?:possible|impossible|légal|illégal|interdit|permis|autorisé|obligatoire|nécessaire|utile|facile
    |difficile
    |dangereux|vrai|préférable|recommandé|conseillé|normal|important|prudent|mieux|bon|bien|mal|faisable|gratuit)"""
PERIOD = r"""(?:année|mois|semaine|soir|matin|midi|jours?|été|hiver|automne|printemps|siècle|week-end|documents?
    |fichiers?|bibliothèque)"""

FRENCH = Grammar(
    words=frozenset(
        """le la les un une des du de est sont était que quel quelle quels quelles qui quoi comment quand où pourquoi
        combien peut doit et mais ou pour avec sans sur dans il elle ils elles son sa ses leur leurs ce cette ces cela
        ça en ne pas je mon ma a ont au aux c qu d l à par""".split()
    ),
    letters="àâçèêëîïôœùû",
    filler=pattern(
        r"""(?:(?:ok|bon|bien|merci|donc|alors|au fait|d['’]accord|s['’]il (?:te|vous) plaît|oui|non)\b[\s,.!;-]*)+
        (?=\w)"""
    ),
    opening=pattern(
        r"""(?:et|mais|ou|qu['’]en est-il|quid|pourquoi pas|dans ce cas|sinon|si oui|si non|pareil
        |même chose)(?![\w-])"""
    ),
    ellipsis=pattern(
        rf"""(?:(?:depuis|jusqu['’]à|pour|avec|de|par|à|en|chez|sur|dans|vers) )?{ASKS}(?: (?:exactement|donc|ça
        |d['’]autre|encore|de plus|au juste|de temps|pas|non|précisément))*
        |combien (?:de |d['’])[\w-]+
        |quel(?:le)?s? (?!{VERB}\b)[\w-]+
        |l(?:e|a|es)quel(?:le)?s? (?:est|sont) l(?:e|a|es) (?:plus|moins) \w+
        |(?:explique[zr]?|développe[zr]?|continue[zr]?)(?: (?:plus|davantage|encore))*
        |c['’]est quoi|vraiment|(?:dis|dites)-m['’]en plus"""
    ),
    phrase=pattern(
        r"""(?:(?:en|dans|pour|avec|sans|après|avant|pendant|depuis|chez|sur|à|aux?|de|du|des|par|contre|même|seulement
        |aussi|le|la|les|une?)(?![\w-])|[ld]['’])"""
    ),
    verb=pattern(
        rf"""\b(?:{VERB}|{ASKS})\b|-(?:t-)?(?:ils?|elles?|on|vous|je|tu|ce)\b
        |^(?:expli|défini|décri|résum|tradui|compar|donn|cit|list|écri|calcul|nomm|trouv)\w*\b"""
    ),
    few=2,
    anaphor=pattern(
        r"""\b(?:celui|celle|ceux|celles)(?:-(?:ci|là)\b|\b(?! (?:qui|que|dont|de|du|des|où)\b| (?:qu|d)['’]))
        |\b(?:ce dernier|cette dernière|ces derni(?:ers|ères)|la même chose)\b|\bl(?:e|a|es) mêmes?$
        |\bl(?:['’]|es )autres?$|\b(?:quoi|qui|où) d['’]autre\b|\b(?:aussi|non plus|à la place)$
        |\b(?:peux|peut|peut-on|puis-je|comment|où|doit-on|faut-il) (?:l[ea]s? |l['’])\w+(?:er|ir|re)
        (?=$| (?:à|en|avec|sans|dans|sur)\b)"""
    ),
    expletive=pattern(
        rf"""\bil (?:y a|y avait|n['’]y a|faut|fallait|pleut|neige|s['’]agit|existe|convient|suffit)\b
        |\b(?:n['’])?y a(?:ura)?-t-il\b|\b(?:faut|faut-t|s['’]agit|pleut|neige|existe-t)-il\b
        |\b(?:est|était|serait|sera|c['’]est|est-ce|il est)(?:-il)?(?: \w+ment)? {APPRAISED}
        (?=(?: [\w'’-]+){{0,5}}? (?:de |d['’]|que |qu['’]|si ))
        |\bquelle heure (?:est-il|il est)\b|\bquel temps (?:fait|fera)-(?:t-)?il\b
        |\bfait-il (?:froid|chaud|beau|nuit|jour)\b|\b(?:qu['’])?est-ce (?:que?|qu['’])|\bn['’]est-ce pas\b
        |\bc['’]est (?:quoi|qui|quand|où|combien|le|la|les|une?|l['’])(?= ?\w)
        |\b(?:ce|cet|cette|ces) {PERIOD}\b|\bce (?:qui|que|dont|qu['’])"""
    ),
    pronoun=pattern(
        r"""\b(?:ils?|elles?|lui|eux|cela|ça|ceci)\b|\best-ce\b|\bc['’](?:est|était)\b|(?<![\w-])là(?:-bas)?\b
        |\bce (?:serait|sera|sont|fut)\b|\by\b(?! a\b| avait\b| aura\b)
        |\b(?:combien|qui|pourquoi|comment) en\b|\ben (?:existe|parle|coûte|reste|ont|avez)\b
        |\b(?:ce|cet|cette|ces) \w"""
    ),
    possessive=pattern(r"\b(?:son|sa|ses|leurs?) \w"),
    # A question may repeat its subject after the verb, as in *le locataire doit-il*: the noun before it counts.
    clause=pattern(
        rf"""[,;.!?()–—]|\b(?:que|qui|quand|lorsque|lorsqu|si|parce|puisque|après|avant|pendant|où|dont|sans)\b|\bqu['’]
        |-(?=(?:t-)?(?:ils?|elles?)\b)
        |\b(?:et|ou|mais)(?= (?:{VERB}|{ASKS}|il|elle)\b)"""
    ),
    noun=cased(
        r"""\b(?:(?:le|la|les|une?|des|du|aux?|mon|ma|mes|notre|nos|votre|vos|chaque|tous?|toutes?|aucune?|de|en|à
        |pour|avec
        |chez|sans|quel|quelle|quels|quelles) |[ld]['’])(?!(?:le|la|les|l|il|elle|ils|elles|est|sont|son|sa|ses
        |leurs?|ce|cet|cette|ces|qui|que|quoi|où|plus|cela|ça|lui|eux|y|en)\b)\w{2,}
        |(?<=\w )[A-ZÉÈÀÂÎÔ]\w+"""
    ),
)

"""Recognise a draft that declines to answer, in five languages."""

import re

from grounding.sentences import sentences

_PASSAGES = r"(?:passages?|excerpts?|snippets?|contexts?|texts?)"
_SOURCES = rf"(?:{_PASSAGES}|documents?|sources?|materials?|articles?|information|data|library)"
_WHICH = (
    r"(?:the|these|this|those|your|any\s+of\s+the|none\s+of\s+the|neither(?:\s+of\s+the)?)\s+"
    r"(?:(?:provided|given|above|available|retrieved|supplied|following|two|three|four|source)\s+){0,2}"
)
_GIVEN = r"(?:\s+(?:provided|given|above|supplied|available|themselves|you\s+(?:gave|provided)))?"
_NOT = r"(?:(?:do|does|did)(?:\s+not|n't)|cannot|can't|can\s+not|never|only\s+partly)"
_SAY = (
    r"(?:say|state|mention|specify|answer|address|discuss|describe|indicate|explain|tell|define|detail|reveal|name|"
    r"clarify|support)"
)
_HOLD = r"(?:contain|provide(?!\s+for\b)|include|give|offer|have(?!\s+to\b)|cover|refer|talk|list|report)"
_FACTS = (
    r"(?:(?:any|enough|sufficient|specific|the|an?|that|this|such|relevant|direct|clear|explicit|further|more|"
    r"detailed|necessary)\s+){0,3}(?:information|details?|answers?|mentions?|data|explanation|context|knowledge|access)"
)
_SAID = (
    r"(?:stated|mentioned|specified|given|provided|answered|found|contained|available|included|addressed|discussed|"
    r"described|indicated|explained|covered|present|determined|clear)"
)
_WHERE = rf"(?:in|from|by|with|on|using)\s+(?:any\s+of\s+)?(?:{_WHICH})?{_SOURCES}"
_ASKED = r"(?:whether|if|how|what|who|whom|whose|when|where|why|which)"
ENGLISH = re.compile(
    rf"""^\W*
    (?:as\s+an\s+ai[^,.]*,\s*)?
    (?:(?:i'?m\s+(?:very\s+|so\s+)?(?:sorry|afraid)(?:\s+that)?|sorry|unfortunately|apologies|i\s+apologi[sz]e)
      [,.:;]?\s*(?:but\s+)?)?
    (?:(?:based\s+on|according\s+to|from|given|in)\s+{_WHICH}{_SOURCES}{_GIVEN}(?:\s+alone)?,?\s*)?
    (?:
      i\s+(?:really\s+|simply\s+)?(?:do\s+not|don't)\s+know\b
      |i\s+(?:do\s+not|don't|currently\s+don't)\s+(?:have|see|find)\s+{_FACTS}
      |i\s+(?:have|see|find|found)\s+(?:no|not\s+enough)\s+(?:\w+\s+)?(?:information|idea|answer|mention|knowledge|data)
      |(?:i\s+)?(?:cannot|can't|can\s+not|could\s+not|couldn't|am\s+unable\s+to|am\s+not\s+able\s+to|did\s+not|
        didn't|won't|will\s+not\s+be\s+able\s+to)\s+(?:answer|be\s+(?:determined|answered)|determine|find|say|tell\b|
        provide|assist|help|comply|give\s+(?:you\s+)?(?:an?|that|the|any)|share|know)\b
      |i'm\s+(?:unable\s+to|not\s+able\s+to|not\s+sure\b|not\s+certain\b|not\s+aware\b)
      |i\s+am\s+not\s+(?:sure|certain|aware)\b
      |{_WHICH}{_SOURCES}{_GIVEN}\s+{_NOT}\s+(?:\w+ly\s+)?{_SAY}\b
      |{_WHICH}{_PASSAGES}{_GIVEN}\s+{_NOT}\s+(?:\w+ly\s+)?{_HOLD}\b
      |{_WHICH}{_SOURCES}{_GIVEN}\s+{_NOT}\s+(?:\w+ly\s+)?{_HOLD}\s+(?:to\s+|about\s+)?{_FACTS}
      |{_WHICH}{_SOURCES}{_GIVEN}\s+(?:(?:contains?|provides?|gives?|includes?|ha(?:s|ve)|offers?|makes?)\s+no\s+
        (?:\w+\s+)?(?:information|details?|answers?|mention|data)|says?\s+nothing|(?:is|are)\s+silent|
        (?:is|are)\s+(?:not\s+enough|insufficient|not\s+sufficient)|lacks?\s+(?:\w+\s+){{0,2}}(?:information|details?))
      |(?:none|neither)\s+of\s+{_WHICH}{_SOURCES}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})
      |(?:neither|no)\s+{_PASSAGES}\s+(?:{_SAY}|{_HOLD})s?\b
      |nothing\s+{_WHERE}
      |(?:the|this|that|your)\s+(?:answer|question|(?:\w+\s+)?information)(?:\s+(?:to|about|on)\s+[^.,]{{1,60}})?\s+
        (?:is|was|cannot|can't|can\s+not)\s*(?:not\s+|n't\s+|be\s+)+(?:(?:{_SAID})\b|{_WHERE}|known\b)
      |[^.]{{1,80}}\b(?:is|are|was|were)(?:\s+not|n't)\s+(?:\w+ly\s+)?{_SAID}\s+(?:\w+\s+)?{_WHERE}\b
      |(?:there\s+(?:is|are|was)|there's)\s+(?:no|not\s+(?:enough|any|sufficient)|insufficient)\s+(?:\w+\s+){{0,2}}
        (?:information|mention|details?)\b
      |(?:there\s+(?:is|are)|there's)\s+no\s+(?:\w+\s+)?answer\s+(?:to|in|given|provided|available)\b
      |(?:it\s+is\s+|it's\s+|that\s+is\s+|this\s+is\s+)?(?:not\s+(?:\w+ly\s+)?{_SAID}|unclear|unknown|unspecified)
        (?:\W*$|\s+{_WHERE}|\s+{_ASKED}\b[^.]*{_WHERE})
      |it\s+is(?:\s+not|n't)\s+(?:stated|mentioned|specified|clear)\s+{_ASKED}\b
      |(?:it\s+is\s+|it's\s+)?(?:impossible|not\s+possible)\s+to\s+(?:say|determine|answer|tell|know)\b
      |(?:not\s+enough|insufficient|no)\s+(?:(?:relevant|specific|further|such|other)\s+)?information
        (?:\W*$|\s+(?:is|was)\s+{_SAID}|\s+(?:found|available|provided|given)|\s+{_WHERE}|\s+to\s+(?:answer|say|determine)|
        \s+(?:about|on|regarding)\s+[^.]*\b(?:{_SAID}|{_WHERE}))
      |(?:no\s+(?:relevant\s+)?(?:answers?|mentions?)(?:\s+(?:is\s+|was\s+)?(?:found|given|provided|available))?|n/a|none|
        don't\s+know|idk|no\s+idea)\W*$
      |no\s+mention\s+of\b
      |non\s+lo\s+so|não\s+sei|わかりません|分かりません|모르겠습니다
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_SATZ = r"(?:[^.!?]{0,60}\s)?"
_TEXTE = r"(?:Passagen?|Auszüge?n?|Ausschnitten?|Textstellen?|Texte?n?|Abschnitte?n?|Kontext)"
_QUELLEN = rf"(?:{_TEXTE}|Dokumente?n?|Unterlagen|Quellen?|Informationen|Angaben|Materialien)"
_DIE = (
    r"(?:(?:die|den|der|das|dem|diese[nrms]?|ihre[nrm]?)\s+)?"
    r"(?:(?:bereitgestellten?|vorliegenden?|gegebenen?|angegebenen?|genannten?|obigen?)\s+)?"
)
_ANGABEN = r"(?:\w+en?\s+)?(?:Informationen?|Angaben?|Auskunft|Hinweise?|Antwort|Details)"
GERMAN = re.compile(
    rf"""^\W*
    (?:(?:es\s+)?tut\s+mir\s+leid,?\s*(?:aber\s+)?|leider,?\s+|entschuldigung,?\s*)?
    (?:
      ich\s+weiß\s+(?:es\s+|das\s+)?(?:leider\s+)?nicht\b|(?:das|dies)\s+weiß\s+ich\s+(?:leider\s+)?nicht\b|weiß\s+ich\s+nicht\b
      |(?:ich\s+kann|kann\s+ich)\s+{_SATZ}nicht\s+(?:beantworten|sagen|angeben|beurteilen|feststellen|bestimmen)\b
      |(?:ich\s+(?:habe|finde)|(?:habe|finde)\s+ich)\s+{_SATZ}keine?\s+{_ANGABEN}
      |(?:aus|in|zu|nach|gemäß|laut|auf\s+(?:der\s+)?grundlage)\s+{_DIE}{_QUELLEN}\s+{_SATZ}(?:nicht\s+
        (?:hervor|ersichtlich|erwähnt|angegeben|genannt|enthalten|zu\s+entnehmen|beantworten|bestimmen|sagen)|
        keine?\s+{_ANGABEN})
      |{_DIE}{_QUELLEN}\s+(?:enthalten|enthält|geben|gibt|liefern|liefert|bieten|bietet|machen|macht)\s+{_SATZ}keine?\s+{_ANGABEN}
      |{_DIE}{_QUELLEN}\s+(?:sagen|sagt|nennen|nennt|erwähnen|erwähnt|beantworten|beantwortet|geben|gibt)\s+{_SATZ}
        (?:nichts?|keine?n?)\b(?!\s+(?:mehr\s+)?frei)
      |(?:dazu|darüber|hierzu|hierüber)\s+{_SATZ}(?:keine?\s+{_ANGABEN}|nichts\b|nicht\b)
      |(?:es\s+)?(?:gibt|liegen|finden\s+sich|findet\s+sich)\s+{_SATZ}keine?\s+{_ANGABEN}
      |(?:das|dies|es|die\s+antwort|die\s+(?:gesuchte\s+|gefragte\s+)?information)\s+(?:wird|ist|geht|steht|lässt\s+sich)\s+
        {_SATZ}nicht\s+(?:\w+\s+)?(?:angegeben|erwähnt|genannt|gesagt|bekannt|enthalten|hervor|in|beantworten|ersichtlich)\b
      |[^.]{{1,80}}\s(?:wird|werden|ist|sind)\s+in\s+{_DIE}{_QUELLEN}\s+nicht\s+(?:\w+\s+)?(?:angegeben|erwähnt|genannt|enthalten)
      |keine\s+(?:{_ANGABEN}|ahnung)(?:\W*$|\s+(?:dazu|darüber|hierzu|zu|über|in|vorhanden|verfügbar|gefunden)\b)
      |(?:nicht\s+(?:angegeben|erwähnt|genannt|bekannt)|unbekannt|unklar)\W*$
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_EXTRAITS = r"(?:passages?|extraits?|textes?|contextes?)"
_SOURCES_FR = rf"(?:{_EXTRAITS}|documents?|sources?|informations?|données|articles?)"
_LES = r"(?:(?:les?|la|ces?|cette|ces|vos|aucun\s+des)\s+)"
_FOURNIS = r"(?:\s+(?:fournie?s?|donnée?s?|disponibles?|ci-dessus|présentée?s?))?"
_RENSEIGNEMENTS = r"(?:\w+\s+)?(?:informations?|réponses?|mentions?|précisions?|renseignements?|détails?|indications?)"
_PHRASE = r"(?:[^.!?]{0,60}\s)?"
_DIRE = (
    r"(?:mentionne|précise|indique|di(?:t|sent)|répond|spécifie|donne|fourni(?:t|sse)|contien(?:t|ne)|permet|"
    r"parle|évoque|comporte)(?:nt|ent|tent|dent|es)?"
)
FRENCH = re.compile(
    rf"""^\W*
    (?:(?:je\s+suis\s+)?(?:désolée?)\s*,?\s*(?:mais\s+)?|malheureusement\s*,?\s*|je\s+regrette\s*,?\s*(?:mais\s+)?)?
    (?:(?:d'après|selon|dans|sur\s+la\s+base\s+de|à\s+partir\s+de)\s+(?:{_LES})?{_SOURCES_FR}{_FOURNIS}\s*,\s*)?
    (?:
      je\s+ne\s+(?:le\s+)?sais\s+pas\b|je\s+l'ignore\b|je\s+n'en\s+sais\s+rien\b|aucune\s+idée\b
      |je\s+ne\s+(?:peux|suis\s+pas\s+en\s+mesure|saurais|trouve|dispose)\s+{_PHRASE}?(?:pas\s+)?{_PHRASE}
        (?:répondre|dire|déterminer|préciser|d'{_RENSEIGNEMENTS}|de\s+{_RENSEIGNEMENTS}|aucune?\s+{_RENSEIGNEMENTS})
      |je\s+n'(?:ai|arrive)\s+(?:pas|trouvé|aucune)\s+{_PHRASE}(?:d'|de\s+|cette\s+|l'|la\s+|aucune\s+)?{_RENSEIGNEMENTS}
      |{_LES}{_EXTRAITS}{_FOURNIS}\s+ne\s+(?:le\s+|l')?{_DIRE}\s+(?:pas|rien|aucune?)\b
      |{_LES}{_SOURCES_FR}{_FOURNIS}\s+ne\s+(?:mentionne|précise|indique|di|répond|spécifie)\w*\s+(?:pas|rien|aucune?)\b
      |{_LES}{_SOURCES_FR}{_FOURNIS}\s+ne\s+{_DIRE}\s+(?:(?:pas|rien)\s+)?(?:d'|de\s+|aucune?\s+|à\s+cette\s+)?
        (?:{_RENSEIGNEMENTS}|question|répondre)
      |il\s+n'y\s+a\s+(?:pas\s+d'|pas\s+de\s+|aucune\s+){_RENSEIGNEMENTS}
      |(?:ce|cela|ceci|il)\s+n'est\s+pas\s+(?:mentionné|précisé|indiqué|dit|spécifié|possible\s+de\s+(?:répondre|dire|déterminer))
      |(?:la\s+réponse|(?:cette|l')\s*information|[^.]{{1,80}})\s+(?:n'est|n'apparaît|ne\s+figure|n'a)\s+pas\s+
        (?:\w+\s+)?(?:(?:mentionnée?s?|précisée?s?|indiquée?s?|fournie?s?|donnée?s?|disponibles?|trouvée?s?|connue?s?)\s+)?
        dans\s+(?:{_LES})?{_SOURCES_FR}
      |(?:la\s+réponse|cette\s+information|l'information)\s+n'est\s+pas\s+(?:mentionnée|précisée|indiquée|fournie|disponible|connue)
      |(?:aucune?|pas\s+d'|pas\s+de)\s*{_RENSEIGNEMENTS}(?:\W*$|\s+(?:sur|à|dans|concernant|n'est|disponible|trouvée?)\b)
      |(?:il\s+est\s+)?impossible\s+de\s+(?:répondre|dire|déterminer|savoir)\b
      |(?:non\s+(?:mentionné|précisé|indiqué|spécifié)e?s?|inconnue?s?)\W*$
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_PASAJES = r"(?:pasajes?|fragmentos?|extractos?|textos?|contextos?)"
_FUENTES = rf"(?:{_PASAJES}|documentos?|fuentes?|información|datos|artículos?)"
_LOS = r"(?:(?:los|las|el|la|estos|estas|este|esta|sus|ninguno\s+de\s+los)\s+)"
_DADOS = r"(?:\s+(?:proporcionad[oa]s?|dad[oa]s?|disponibles?|facilitad[oa]s?|anteriores?))?"
_DATOS = r"(?:\w+\s+)?(?:información|respuestas?|menci(?:ón|ones)|detalles?|indicaci(?:ón|ones))"
_FRASE = r"(?:[^.!?]{0,60}\s)?"
SPANISH = re.compile(
    rf"""^\W*
    (?:lo\s+siento\s*,?\s*(?:pero\s+)?|lamentablemente\s*,?\s*|desafortunadamente\s*,?\s*|por\s+desgracia\s*,?\s*)?
    (?:(?:según|en|con|de\s+acuerdo\s+con|a\s+partir\s+de)\s+(?:{_LOS})?{_FUENTES}{_DADOS}\s*,?\s*)?
    (?:
      (?:yo\s+)?no\s+lo\s+sé\b|(?:yo\s+)?no\s+sé\b|lo\s+desconozco\b|ni\s+idea\b
      |no\s+(?:tengo|dispongo\s+de|encuentro|he\s+encontrado|encontré)\s+(?:ningun[ao]?\s+|suficiente\s+)?{_DATOS}
      |no\s+(?:puedo|es\s+posible|se\s+puede|me\s+es\s+posible)\s+{_FRASE}(?:responder|contestar|decir|determinar|saber|proporcionar)\w*
      |{_LOS}{_PASAJES}{_DADOS}\s+no\s+(?:lo\s+)?(?:menciona|dice|indica|especifica|precisa|responde|contiene|proporciona|ofrece|incluye|da)n?\b
      |{_LOS}{_FUENTES}{_DADOS}\s+no\s+(?:lo\s+)?(?:menciona|dice|indica|especifica|precisa|responde)n?\b
      |{_LOS}{_FUENTES}{_DADOS}\s+no\s+(?:contiene|proporciona|ofrece|incluye|da|aporta|tiene)n?\s+
        (?:ningun[ao]?\s+|suficiente\s+|la\s+)?{_DATOS}
      |no\s+hay\s+(?:ningun[ao]?\s+|suficiente\s+)?{_DATOS}
      |(?:eso\s+|esto\s+)?no\s+se\s+(?:menciona|indica|especifica|precisa|dice|proporciona)\b
      |no\s+(?:está|viene|aparece|consta|figura)\s+(?:\w+\s+)?(?:en\s+(?:{_LOS})?{_FUENTES}|indicado|especificado|mencionado)
      |(?:la\s+respuesta|(?:esa|esta|la)\s+información)\s+no\s+(?:se|está|aparece|figura|consta|es\s+conocida)\b
      |[^.]{{1,80}}\s+no\s+(?:se|está|aparece|figura|consta)\s+(?:\w+\s+)?en\s+(?:{_LOS})?{_FUENTES}
      |(?:ninguna|sin)\s+{_DATOS}\W*$
      |es\s+imposible\s+(?:responder|decir|determinar|saber)\b
      |(?:no\s+(?:mencionad|especificad|indicad)[oa]s?|desconocid[oa]s?|no\s+se\s+sabe)\W*$
    )""",
    re.IGNORECASE | re.VERBOSE,
)

_WENDANG = r"(?:文档|文件|段落|文本|资料|文章|材料|内容|上下文|文中|原文|片段|信息)"
CHINESE = re.compile(
    rf"""^\W*
    (?:(?:很|非常)?(?:抱歉|对不起|不好意思|遗憾)[，,。!！]?\s*(?:但是?)?)?
    (?:(?:根据|从|基于|在)[^，,。]{{0,12}}{_WENDANG}[^，,。]{{0,6}}[，,]?\s*)?
    (?:
      我?(?:也|并)?不(?:知道|清楚|确定)|我?(?:无法|不能|没法)(?:从[^。]{{0,20}}中?)?(?:回答|确定|得知|得出|判断|提供|告诉|知道|找到)
      |[^，,。]{{0,10}}{_WENDANG}(?:中|里|内)?(?:都|均|并|也)?(?:没有|未|没|不)(?:有|曾)?(?:明确|具体|直接)?
        (?:提到|提及|说明|说|包含|给出|指出|提供|涉及|回答|记载|写明|介绍|相关|关于|任何)
      |(?:没有|未|无)(?:明确|具体|直接)?(?:提到|提及|说明|给出|指出|提供|涉及|记载|找到)
      |(?:没有|无|缺乏)(?:足够的?|相关的?|任何|关于[^。]{{1,30}}的)*(?:信息|资料|答案|内容|数据|记载)
      |我?(?:没有|找不到)[^。]{{0,20}}(?:信息|资料|答案)
      |(?:抱歉|对不起)\W*$|(?:未知|不详|不明|无)\W*$
    )""",
    re.VERBOSE,
)

# What follows a refusal and retracts it: an answer after all, which the checks may judge.
TAKEN_BACK = re.compile(
    r"(?<=\s)(?:but|however|though|although|yet|aber|jedoch|allerdings|mais|cependant|pero|sin\s+embargo|aunque)\b"
    r"(?=(?:\W+\w+){4})|(?:但是?|不过|然而)(?=\w{6})",
    re.IGNORECASE,
)
RESUMED = re.compile(
    r"^\W*(?:(?:but|however|that\s+said|nevertheless|still|instead|aber|jedoch|allerdings|mais|cependant|toutefois|pero|"
    r"sin\s+embargo|no\s+obstante)\b|但是?|不过|然而)",
    re.IGNORECASE,
)
LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, CHINESE)


def declines(draft: str) -> bool:
    """True if the draft as a whole says that it has no answer: its first sentence declines and little follows.

    English, German, French, Spanish and Chinese are read. False in doubt: the draft is then judged like any other.
    """
    spans = sentences(draft)
    if not spans:
        return True
    first, *others = [draft[slice(*span)].replace("’", "'") for span in spans]
    if len(spans) > 3 or any(RESUMED.match(other) for other in others):
        return False
    refusals = (match for language in LANGUAGES if (match := language.match(first)))
    return any(not TAKEN_BACK.search(first, refusal.end() + 1) for refusal in refusals)

"""How English questions refer back to earlier ones."""

from grounding.references.grammar import Grammar, cased, pattern

BE = r"(?:is|are|was|were|be|been)"
AUXILIARY = rf"(?:{BE}|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)"
ASKS = r"(?:why|when|where|who|whom|whose|how|what|which)"
APPRAISED = r"""(?:legal|illegal|lawful|unlawful|allowed|permitted|forbidden|prohibited|compulsory|mandatory|required
    |necessary|possible|impossible|safe|unsafe|dangerous|risky|harmful|healthy|unhealthy|bad|good|better|best|wise
    |advisable|sensible|okay|ok|fine|acceptable|appropriate|rude|polite|wrong|right|true|likely|unlikely|hard|difficult
    |easy|easier|cheaper|common|normal|usual|important|essential|useful|enough|sufficient|free|known|said|believed
    |too late|worthwhile|customary|reasonable|time
    |an? (?:\w+ )?(?:crime|idea|offence|offense|mistake|requirement|sin|problem|must|duty|right|myth|fact|rule))"""
# A subject that comes late: to and a verb, or a clause.
LATE_SUBJECT = r"""(?=(?: [\w-]+){0,6}? (?:to (?!(?:the|an?|my|our|your|his|her|their|its|this|that|these|those|it
    |him|them|us|me|you)\b)\w+|that\b|if\b|whether\b)| [a-z]+ing\b)"""
PERIOD = r"""(?:year|month|week|weekend|morning|afternoon|evening|night|spring|summer|autumn|fall|winter|quarter|season
    |century|decade|time|moment|world|planet|documents?|files?|library|collection
    |(?:mon|tues|wednes|thurs|fri|satur|sun)day
    |january|february|march|april|may|june|july|august|september|october|november|december)"""

ENGLISH = Grammar(
    words=frozenset(
        """the a an is are was were what how when where who which why does do did can could should would it they he she
        his her their its and but or of to in for with about from on at that this these those there not i my you your
        has have any than then be them him by""".split()
    ),
    letters="",
    filler=pattern(
        r"""(?:(?:ok(?:ay)?|well|so|now|also|great|thanks?|thank you|hm+|sorry|please|btw|by the way|right|yes|no
        |alright)\b[\s,.!;-]*)+(?=\w)"""
    ),
    opening=pattern(
        r"""(?:and|but|or|what about|how about|what of|why not|then|otherwise|if so|if not|in that case|same
        |tell me more
        |(?:can|could|would) you (?:tell|give|explain) me more)\b"""
    ),
    ellipsis=pattern(
        rf"""(?:(?:since|until|till|by|from|for|to|at|in|on|of|with|about) )?{ASKS}(?: (?:exactly|precisely|else|then|so
        |come|not|again|now|for|to|from|by|with|long|much|many|often|far|old|big|soon|ones?|kinds?|types?|sorts?|time
        |year|day|date))*
        |how (?:many|much|long|often|far|old|big|large|high|tall|heavy|fast|expensive) [\w-]+
        |which [\w-]+
        |which (?:ones? )?(?:is|are|was|were) (?:the )?(?:(?:most|least|more|less) \w+|\w+(?:er|est)|best|worst)
        |(?:please |can you |could you )?(?:explain|elaborate|go on|continue|give (?:me )?(?:an|some) examples?)
        (?: (?:more|further|again|why|how|please|in more detail))*
        |are you sure|is it|was it|really"""
    ),
    phrase=pattern(
        r"""(?:in|for|with|without|after|before|during|since|until|from|at|on|by|under|over|per|not|only|even|also|just
        |the|an?|any|anything|some|something|all)\b"""
    ),
    verb=pattern(
        rf"""\b(?:{AUXILIARY}|{ASKS})\b|n['’]t\b|['’](?:s|re|m|ll|ve|d)\b
        |^(?:define|explain|describe|list|compare|summari[sz]e|translate|name|give|tell|show|write|calculate|compute
        |find
        |outline|discuss|state|identify|convert|solve|prove|create|draft|invent|compose|recommend|suggest|spell|shorten
        |correct)\b"""
    ),
    few=3,
    anaphor=pattern(
        r"""\b(?:this|that|these|those|another|which
        |the (?:other|first|second|third|last|next|previous|old|new|former|latter)) ones?\b
        |\bany others?\b(?! than)|\bthe (?:former|latter|others|above|aforementioned)\b(?!-)
        |\b(?:what|who|where|how|anything|anyone|anybody|something|someone|everything|nothing) else\b
        |\b(?:is|are|was|were|do|does|did|would|will) the same\b(?!-)|\b(?:too|as well|instead)$
        |\b(?:do|does|did|doing|done) so\b
        |^(?!.*\b(?:if|when)\b).* then$
        |\byou(?:['’](?:re|ve)|r)?(?: (?:are|were|have|had|just|last))* (?:said|say|saying|mention(?:ed|ing)?|mean|meant
        |wrote)\b
        |\b(?:your|the) (?:last|previous|earlier) (?:answer|reply|question|point|sentence)\b
        |\b(?:mentioned|said) (?:above|before)\b"""
    ),
    expletive=pattern(
        rf"""(?-i:\b[iI]T\b)|\b{AUXILIARY} there\b|\bthere(?: {AUXILIARY}| exists?|['’]s)\b
        |\b(?:is|was|isn['’]t|will|would|be|become|becomes|makes?|made|finds?|found) it
        (?:(?: \w+ly| be| still| even| always| not)* {APPRAISED}\b{LATE_SUBJECT}| worth (?:the |\w+ing\b)| that\b
        | who\b)
        |\bit(?: is| was| would be| will be|['’]s)(?: \w+ly)? {APPRAISED}\b{LATE_SUBJECT}
        |\b(?:does|did|will|would|can|could|should|might) it
        (?: (?:take|cost|require|need|matter|help|hurt|make sense|pay)\b(?: \w+){{0,6}}?{LATE_SUBJECT}
        | mean (?:to|when|if|that)\b)
        |\bis it (?:like to|called when)\b|\bwhen it comes to\b|\bcall it (?:when|if)\b
        |\bit (?:takes?|took|costs?)\b(?=.* to \w)|\bit (?:seems|appears|turns out|is said|is believed)\b
        |\bwhat (?:time|day|date|month|year) (?:is|was) it\b|\bhow (?:late|early|far) is it(?= (?:to|from)\b|$)
        |\b(?:is|was|will|does|did|would) it (?:be )?(?:get )?
        (?:rain|snow|freez|hail|dark|light|hot|cold|warm|sunny|windy)\w*
        |\bthis (?:very )?{PERIOD}\b|\bthese (?:days|documents|files)\b
        |\bthose (?:who|that|which|with|without|of|whose|aged|under|over)\b"""
    ),
    pronoun=pattern(
        rf"""\b(?:it|they|them|he|him|she|there|this|these|those)\b|\bher\b(?! \w)
        |^that\b|\bthat(?=\s*(?:[,.;]|$))
        |\b(?:{AUXILIARY}|['’]s|about|after|before|of|for|from|with|without|by|like|than|under|on|at|into|to|in|why|how
        |own|owns|use|buy|make|makes|made|wrote|built|founded|runs?|get|got|pays?) that\b"""
    ),
    possessive=pattern(r"\b(?:its|their|theirs|his)\b|\bher \w"),
    clause=pattern(
        rf"""[,;.!?()–—]| - |\b(?:that|which|who|whom|whose|when|where|if|whether|because|since|as|before|after|while
        |until|unless|although|though|so|than|without|once)\b
        |\b(?:and|or|but)
        (?= (?:{AUXILIARY}|{ASKS}|if|then|it|he|she|they|use|take|get|leave|keep|put|make|give|live|return|pay)\b)"""
    ),
    noun=cased(
        rf"""\b(?:the|an?|my|our|your|each|every|any|some|all|no|most|many|two|three|several|few|both|of|in|for|with
        |from
        |on|at|about|between|into|named|called|which|whose|how many) (?!(?:{AUXILIARY}|the|an?|it|this|that|these|those
        |them|him|her|his|its|their|what|who|where|when|how|why|general|addition|you|me|us|i|one|all)\b)\w{{2,}}
        |(?<=\w )[A-Z]\w+|\b[A-Z]{{2,}}\b
        |\b(?:that|if|whether|when|because|while|{AUXILIARY}) (?!(?:it|he|she|they|this|that|these|those|there|you|the
        |his|her|its|their|any\w*|some\w*|every\w*|not|who|what|which|where|when|how|been)\b)[a-z]{{3,}}
        |^(?!(?:{ASKS}|that|this|these|those|it|he|she|they|there|one)\b)\w{{3,}} {AUXILIARY}\b"""
    ),
)

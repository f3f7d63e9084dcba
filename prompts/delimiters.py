"""Render passages for a prompt: numbered, delimited, and unable to forge the delimiters."""

import re
import unicodedata
from collections.abc import Sequence

from core.passages import section_of, shown_text
from core.text import clean
from core.types import Passage

# Lookalikes of each first character: brackets, strokes, and letters of our delimiters in other alphabets.
LOOKALIKES = {
    one[0]: one[1:]
    for one in (
        "<‹⟨〈〈❬❮❰˂ᐸ⧼ >›⟩〉〉❭❯❱˃ᐳ⧽ [⁅⟦❲ |｜¦ǀ│∣❘⏐ /∕⁄⧸╱ "
        "aаαɑ cсϲ eеε gɡց iіιı lӏ mм nпոν oоοօ pрρ qԛգ sѕꜱ tтτ uυսս wԝѡ"
    ).split()
}
# Letter shapes that Unicode itself treats as compatible: full-width, mathematical, circled.
STYLED = (*range(0x2100, 0x2150), *range(0x2460, 0x2500), *range(0xFE50, 0xFF5F), *range(0x1D400, 0x1D800))


def _plain_forms() -> dict[int, str]:
    folded = {code: unicodedata.normalize("NFKC", chr(code)) for code in STYLED}
    forms = {code: plain for code, plain in folded.items() if len(plain) == 1 and plain.isascii()}
    for plain, several in LOOKALIKES.items():
        forms |= {ord(one): plain for one in several}
        forms |= {ord(one.upper()): plain for one in several if len(one.upper()) == 1 and not one.upper().isascii()}
    return forms


PLAIN = _plain_forms()

PASSAGE = '<passage id="{}">\n{}\n</passage>'
ACCENTS = "\u0300-\u036f"
NAMES = "|".join(f"[{ACCENTS}]*".join(name) for name in ("passage", "question", "answer", "claim"))
# At the end of a text as well: the prompt may continue with such a name.
DELIMITER = re.compile(rf"(?:<|&(?:lt|\#0*60|\#x0*3c);?)(?=[\s/\\{ACCENTS}]*(?:{NAMES}|\Z))", re.IGNORECASE)

# Control tokens of chat templates: a server interprets those in a message's text like its own.
CONTROL = re.compile(
    r"""<(?=
        \s*\| [^|<>\n]{1,60} (?:\|\s*)? >     # <|im_end|>, <|eot_id|>, <｜User｜>, <|START_OF_TURN_TOKEN|>, <|turn>
        | [^|<>\s]{1,60} \| >                 # <turn|>
        | /?s> | (?i: /?SYS>>                 # </s>, <<SYS>>
        | /?(?: (?:start|end)_of_\w{1,20} | [be]os | [se]op | pad | unk | mask | cls | sep | (?:bos|eos|eop|mask)_token
            | think(?:ing)? | tools? | (?:tool|function)_(?:call|response|result)s? | system | seed:\w{1,20}
            | (?:unused|reserved|special|extra_id)_?\d{1,6} | image_soft_token
        )> )
    )
    | \[(?=
        (?i: /?(?:INST | AVAILABLE_TOOLS | TOOL_(?:CALLS|RESULTS|CONTENT) | SYSTEM_PROMPT | MODEL_SETTINGS)\] )
        | /?(?: [gs]?MASK | BOS | EOS | EOT | PAD | UNK | CLS | SEP | THINK | ARGS | CALL_ID | PREFIX | MIDDLE | SUFFIX
            | IMG(?:_BREAK|_END)? | (?:BEGIN_)?AUDIO | TRANSCRIBE | (?:start|end)_header_id
        )\]
        | \| [^|\[\]\n]{1,40} \|\]             # [|endofturn|]
    )""",
    re.VERBOSE,
)
HARMLESS = {"<": "‹", "[": "⁅"}


def as_data(text: str) -> str:
    """Remove hidden characters from the text, and defuse anything that imitates a delimiter.

    Delimiters are our own tags, in any letters that look like theirs, and the control tokens of chat templates. The
    function is idempotent.
    """
    shown = clean(text)
    for pattern in (DELIMITER, CONTROL):
        # The plain form keeps every character's position.
        plain = shown if shown.isascii() else shown.translate(PLAIN)
        parts, position = [], 0
        for match in pattern.finditer(plain):
            parts += [shown[position : match.start()], HARMLESS[match.group()] if pattern is CONTROL else "("]
            position = match.end()
        shown = "".join([*parts, shown[position:]])
    return shown


def readable(passage: Passage) -> str:
    """Render a passage for a prompt, without delimiters: what is shown of its text, below its section if it has one."""
    section, text = section_of(passage), shown_text(passage)
    return as_data(f"Section: {section}\n{text}" if section else text)


def delimited(passages: Sequence[Passage]) -> str:
    """Render all passages, unabridged, each between its own delimiters."""
    return "\n".join(PASSAGE.format(number, readable(passage)) for number, passage in enumerate(passages, 1))

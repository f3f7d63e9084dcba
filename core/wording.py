"""The program's own sentences, which stand in place of an answer or beside it, in the languages of questions."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.types import StopReason


@dataclass(frozen=True)
class Wording:
    """The fixed texts of one language. The caller fills in their placeholders, such as ``{asked}``.

    ``{asked}`` is the question. ``{why}`` is the text in ``why`` for the stop reason, or the text ``failed`` with the
    ``{claim}`` that is not fully supported. ``{claims}`` is a list of claims, each put into ``quoted``. ``{count}`` is
    the number of documents that are not named, ``{condition}`` a sentence of a document, ``{names}`` of the question.
    ``{place}`` is where a ``{quote}`` stands. ``{sql}`` is a query on the ``{rows}`` rows of a table. ``{name}`` was
    found for ``{described}``, a description in the question. ``{point}`` is what is asked of each ``{thing}`` in a
    comparison. ``{read}`` of the ``{passages}`` passages of ``{source}`` were read. ``marks`` has the text after a
    claim by label.
    """

    unanswered: str
    no_answer: str
    failed: str
    not_from_documents: str
    disagree: str
    more: str
    condition: str
    unnamed: str
    nearest: str
    left_out: str
    quoted: str
    unread: str
    queried: str
    who_or_what: str
    meant: str
    cell: str
    why: Mapping[StopReason, str]
    marks: Mapping[str, str]


WORDINGS: Mapping[str, Wording] = {
    "en": Wording(
        unanswered="The documents do not answer “{asked}”: {why}.",
        no_answer="No answer to “{asked}”: {why}.",
        failed="one was drafted, but the documents do not fully support “{claim}”",
        not_from_documents="This is not from your documents, which do not answer the question.",
        disagree="The documents disagree:",
        more="and {count} more",
        condition="The documents add: “{condition}”",
        unnamed="None of the quoted documents mentions “{names}”.",
        nearest="The nearest that the documents say ({place}): “{quote}”",
        left_out="Left out, as not surely supported or no part of the answer: {claims}",
        quoted="“{text}”",
        unread="This is of {read} of the {passages} passages of {source}: the others were not read.",
        queried="From all {rows} rows of {source}: {sql}",
        who_or_what="Who or what is {described}?",
        meant="Meant by “{described}”: {name}",
        cell="What is the {point} of {thing}?",
        why={
            "nothing_relevant": "nothing found in them answers it",
            "declined": "what was found in them does not say",
            "claims_unsupported": "an answer was drafted, but they do not support it",
            "not_useful": "an answer was drafted, but it does not give what is asked",
            "fallback": "nothing found in them was judged relevant, and a draft from the best of it did not hold",
            "limit_calls": "the limit on model calls was reached before an answer was confirmed",
            "limit_tokens": "the limit on tokens was reached before an answer was confirmed",
            "limit_seconds": "the limit on time was reached before an answer was confirmed",
            "model_failed": "the model failed before an answer was confirmed",
        },
        marks={
            "partially supported": " [only partly supported by the documents]",
            "no support": " [not supported by the documents]",
            "contradicted": " [contradicted by the documents]",
            "unknown": " [not checked against the documents]",
        },
    ),
    "de": Wording(
        unanswered="Die Dokumente beantworten „{asked}“ nicht: {why}.",
        no_answer="Keine Antwort auf „{asked}“: {why}.",
        failed="es gab einen Entwurf, aber die Dokumente belegen „{claim}“ nicht vollständig",
        not_from_documents="Das steht nicht in Ihren Dokumenten; sie beantworten die Frage nicht.",
        disagree="Die Dokumente widersprechen sich:",
        more="und {count} weitere",
        condition="Die Dokumente fügen hinzu: „{condition}“",
        unnamed="Keines der zitierten Dokumente erwähnt „{names}“.",
        nearest="Am nächsten kommt dem in den Dokumenten ({place}): „{quote}“",
        left_out="Weggelassen, weil nicht sicher belegt oder kein Teil der Antwort: {claims}",
        quoted="„{text}“",
        unread="Das betrifft {read} von {passages} Abschnitten von {source}: Die übrigen wurden nicht gelesen.",
        queried="Aus allen {rows} Zeilen von {source}: {sql}",
        who_or_what="Wer oder was ist {described}?",
        meant="Gemeint mit „{described}“: {name}",
        cell="Was gilt für {thing}: {point}?",
        why={
            "nothing_relevant": "nichts, was darin gefunden wurde, beantwortet die Frage",
            "declined": "was darin gefunden wurde, sagt es nicht",
            "claims_unsupported": "es gab einen Entwurf, aber sie belegen ihn nicht",
            "not_useful": "es gab einen Entwurf, aber er sagt nicht, was gefragt ist",
            "fallback": "nichts Gefundenes galt als passend, und ein Entwurf aus dem Besten davon hielt nicht stand",
            "limit_calls": "die Höchstzahl der Modellaufrufe war erreicht, bevor eine Antwort bestätigt war",
            "limit_tokens": "die Höchstzahl der Token war erreicht, bevor eine Antwort bestätigt war",
            "limit_seconds": "die Höchstzeit war erreicht, bevor eine Antwort bestätigt war",
            "model_failed": "das Modell ist ausgefallen, bevor eine Antwort bestätigt war",
        },
        marks={
            "partially supported": " [von den Dokumenten nur teilweise belegt]",
            "no support": " [von den Dokumenten nicht belegt]",
            "contradicted": " [von den Dokumenten widerlegt]",
            "unknown": " [nicht anhand der Dokumente geprüft]",
        },
    ),
    "fr": Wording(
        unanswered="Les documents ne répondent pas à « {asked} » : {why}.",
        no_answer="Pas de réponse à « {asked} » : {why}.",
        failed="une réponse a été rédigée, mais les documents n’étayent pas entièrement « {claim} »",
        not_from_documents="Cela ne vient pas de vos documents, qui ne répondent pas à la question.",
        disagree="Les documents se contredisent :",
        more="et {count} de plus",
        condition="Les documents ajoutent : « {condition} »",
        unnamed="Aucun des documents cités ne mentionne « {names} ».",
        nearest="Ce qui s’en approche le plus dans les documents ({place}) : « {quote} »",
        left_out="Omis, car ce n’est pas sûrement établi ou ne fait pas partie de la réponse : {claims}",
        quoted="« {text} »",
        unread="Cela concerne {read} des {passages} passages de {source} : les autres n’ont pas été lus.",
        queried="D’après les {rows} lignes de {source} : {sql}",
        who_or_what="Qui ou quoi est {described} ?",
        meant="Par « {described} » on entend : {name}",
        cell="Que vaut pour {thing} : {point} ?",
        why={
            "nothing_relevant": "rien de ce qui y a été trouvé n’y répond",
            "declined": "ce qui y a été trouvé ne le dit pas",
            "claims_unsupported": "une réponse a été rédigée, mais ils ne l’étayent pas",
            "not_useful": "une réponse a été rédigée, mais elle ne donne pas ce qui est demandé",
            "fallback": "rien de trouvé n’a été jugé pertinent, et une réponse tirée du meilleur n’a pas tenu",
            "limit_calls": "la limite d’appels au modèle a été atteinte avant qu’une réponse soit confirmée",
            "limit_tokens": "la limite de jetons a été atteinte avant qu’une réponse soit confirmée",
            "limit_seconds": "la limite de temps a été atteinte avant qu’une réponse soit confirmée",
            "model_failed": "le modèle est tombé en panne avant qu’une réponse soit confirmée",
        },
        marks={
            "partially supported": " [étayé en partie seulement par les documents]",
            "no support": " [non étayé par les documents]",
            "contradicted": " [contredit par les documents]",
            "unknown": " [non vérifié dans les documents]",
        },
    ),
    "es": Wording(
        unanswered="Los documentos no responden a «{asked}»: {why}.",
        no_answer="No hay respuesta a «{asked}»: {why}.",
        failed="se redactó una, pero los documentos no respaldan del todo «{claim}»",
        not_from_documents="Esto no procede de sus documentos, que no responden a la pregunta.",
        disagree="Los documentos se contradicen:",
        more="y {count} más",
        condition="Los documentos añaden: «{condition}»",
        unnamed="Ninguno de los documentos citados menciona «{names}».",
        nearest="Lo que más se acerca en los documentos ({place}): «{quote}»",
        left_out="Omitido, por no estar respaldado con seguridad o no ser parte de la respuesta: {claims}",
        quoted="«{text}»",
        unread="Esto abarca {read} de los {passages} pasajes de {source}: los demás no se leyeron.",
        queried="De las {rows} filas de {source}: {sql}",
        who_or_what="¿Quién o qué es {described}?",
        meant="Por «{described}» se entiende: {name}",
        cell="¿Qué vale para {thing}: {point}?",
        why={
            "nothing_relevant": "nada de lo encontrado en ellos responde a la pregunta",
            "declined": "lo encontrado en ellos no lo dice",
            "claims_unsupported": "se redactó una respuesta, pero ellos no la respaldan",
            "not_useful": "se redactó una respuesta, pero no da lo que se pregunta",
            "fallback": "nada de lo encontrado se juzgó pertinente, y un borrador a partir de lo mejor no se sostuvo",
            "limit_calls": "se alcanzó el límite de llamadas al modelo antes de confirmar una respuesta",
            "limit_tokens": "se alcanzó el límite de tokens antes de confirmar una respuesta",
            "limit_seconds": "se alcanzó el límite de tiempo antes de confirmar una respuesta",
            "model_failed": "el modelo falló antes de confirmar una respuesta",
        },
        marks={
            "partially supported": " [respaldado solo en parte por los documentos]",
            "no support": " [no respaldado por los documentos]",
            "contradicted": " [contradicho por los documentos]",
            "unknown": " [no comprobado en los documentos]",
        },
    ),
    "zh": Wording(
        unanswered="文档没有回答“{asked}”：{why}。",
        no_answer="“{asked}”没有答案：{why}。",
        failed="已拟出一个回答，但文档不完全支持“{claim}”",
        not_from_documents="以下内容并非来自您的文档，文档没有回答这个问题。",
        disagree="文档说法不一：",
        more="另有{count}份",
        condition="文件还写道：“{condition}”",
        unnamed="引用的文档都没有提到“{names}”。",
        nearest="文档中最接近的说法（{place}）：“{quote}”",
        left_out="以下说法未必有依据，或不属于答案，故略去：{claims}",
        quoted="“{text}”",
        unread="以上内容出自 {source} 全部 {passages} 段中的 {read} 段：其余未读。",
        queried="来自{source}的全部{rows}行：{sql}",
        who_or_what="{described}是谁或什么？",
        meant="所指：“{described}”即{name}",
        cell="{thing}的{point}是什么？",
        why={
            "nothing_relevant": "其中找到的内容都没有回答它",
            "declined": "其中找到的内容没有说明",
            "claims_unsupported": "已拟出一个回答，但文档不支持它",
            "not_useful": "已拟出一个回答，但它没有给出所问的内容",
            "fallback": "找到的内容都被判为不相关，而根据其中最好的部分拟出的回答未能成立",
            "limit_calls": "在确认答案之前已达到模型调用次数的上限",
            "limit_tokens": "在确认答案之前已达到词元数的上限",
            "limit_seconds": "在确认答案之前已达到时间上限",
            "model_failed": "在确认答案之前模型出错",
        },
        marks={
            "partially supported": "[文档仅部分支持]",
            "no support": "[文档不支持]",
            "contradicted": "[与文档相矛盾]",
            "unknown": "[未对照文档核实]",
        },
    ),
}

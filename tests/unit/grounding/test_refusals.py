"""Which drafts decline to answer, in five languages: an answer that looks like a refusal must not."""

import pytest

from grounding.refusals import declines
from tests.unit.retrieval.documents.processor_time import bounded

REFUSALS = """
I do not know the answer to that.
I’m sorry, I cannot answer that from the passages.
Unfortunately, the documents do not say.
I am unable to determine that from the passages.
I'm not sure.
I am not sure about that.
I have no information about that.
As an AI language model, I don't have access to personal data.
The passages provided do not specify how Harry beat Quirrell.
The context doesn't include an answer.
The document does not provide any information about fees.
The documents are silent on this.
The passage says nothing about that.
The passages contain no information about Quirrell.
According to the documents, it is not stated who signed.
None of the passages answer the question.
No passage mentions it.
There is no mention of Harry in the passages.
There's not enough information to answer.
There is no answer to this question in the documents.
The answer is not provided.
The question cannot be answered from the passages.
The method by which Harry beat Quirrell is not described in the provided text.
It is not stated in the passages.
It is unclear from the context.
It isn't specified whether pets are allowed.
It is not possible to say.
Unknown.
No information about Harry is provided.
No information is given about that.
No relevant information found.
Not enough information.
Insufficient information to answer.
Cannot be determined from the passages.
No mention of it.
No answer found.
N/A
I don't know. They only describe mortgages. Ask a doctor.
Ich weiß es nicht.
Das weiß ich leider nicht.
Ich kann diese Frage nicht beantworten.
Leider habe ich dazu keine Informationen.
Es tut mir leid, aber ich kann das nicht sagen.
Die Dokumente enthalten keine Informationen über den Preis.
Die vorliegenden Texte sagen dazu nichts.
Aus den Dokumenten geht nicht hervor, wer die Brücke entworfen hat.
In den Unterlagen finden sich dazu keine Angaben.
Dazu gibt es keine Angaben.
Es gibt keine Informationen über den Architekten.
Das ist nicht angegeben.
Der Preis wird in den Dokumenten nicht genannt.
Keine Angabe.
Nicht bekannt.
Je ne sais pas.
Je l’ignore.
Malheureusement, je ne peux pas répondre à cette question.
Je suis désolé, mais je n’ai pas trouvé d’informations à ce sujet.
Les documents ne mentionnent pas le prix.
Les passages fournis ne précisent pas qui a construit le pont.
Le texte ne le dit pas.
Les documents ne contiennent aucune information sur le prix.
Il n'y a pas d'information sur le prix.
Ce n'est pas précisé.
Le prix n'est pas mentionné dans les textes.
Aucune information disponible.
Impossible de répondre.
Non précisé.
Lo siento, no lo sé.
No tengo información sobre eso.
No puedo responder a esta pregunta.
Lamentablemente, los textos no lo mencionan.
Los documentos no mencionan el precio.
Los documentos no contienen información sobre el precio.
Según los documentos, no se indica quién lo construyó.
No hay información sobre el precio.
El precio no se menciona en el texto.
Ninguna información.
No especificado.
我不知道。
很抱歉，我无法回答这个问题。
根据提供的文档，无法确定桥的价格。
文档中没有提到价格。
文中未提及。
未提供该信息。
わかりません。
""".strip().splitlines()

ANSWERS = """
Die Dokumente enthalten keine personenbezogenen Daten von Kindern, nur Statistiken.
Ich weiß nicht genau, wann, aber die Brücke wurde wohl um 1920 eröffnet.
Es gibt keine Parkplätze am Museum.
Das ist nicht erlaubt.
Il n'y a pas de parking.
Je ne sais pas la date exacte, mais le pont a été ouvert au printemps 1921.
Los documentos no pueden salir de la sala.
No se admiten perros.
No hay aparcamiento.
No sé la fecha exacta, pero el puente se inauguró en la primavera de 1921.
文档不得带出阅览室。
没有停车场。
不能提前终止租约。
我不知道确切日期，但是文档说这座桥于1921年春天开放。
There is no deductible.
The document does not cover flood damage.
The information is not shared with third parties.
No passage through the gate is allowed after six.
No information may be disclosed to third parties.
Nothing is charged in the first year.
It is not available in Canada.
It is not clear water but brine.
It is not possible to end the lease early.
I cannot recommend it to children, the doctor writes.
I do not have to pay, says the tenant.
I don't know the exact figure, but the documents put the dose at about 500 mg a day.
The passages do not give the date. However, the lease began in 2021.
""".strip().splitlines()


@pytest.mark.parametrize("draft", ["", "  \n", *REFUSALS])
def test_a_refusal_declines(draft: str) -> None:
    assert declines(draft)


@pytest.mark.parametrize("draft", ANSWERS)
def test_an_answer_that_looks_like_a_refusal_does_not(draft: str) -> None:
    assert not declines(draft)


def test_a_refusal_at_the_head_of_a_long_answer_does_not() -> None:
    assert not declines("I don't know. " + "Points are fees. " * 3)


@pytest.mark.parametrize(
    "unit",
    "the passages |i do not have any |no information |is not a |die Texte sagen |ich kann |keine |les documents ne |"
    "je ne peux pas |no puedo |los textos no |在文档中|没有|a.|((".split("|"),
)
def test_a_long_reply_is_read_in_time(unit: str) -> None:
    with bounded(2.0):
        declines(unit * 5000)

"""Which drafts decline to answer, in five languages: an answer that looks like a refusal must not."""

import time

import pytest

from grounding.refusals import declines

REFUSALS = """
I don't know.
I don’t know
I do not know the answer to that.
I really don't know.
I'm sorry, but I don't know.
I’m sorry, I cannot answer that from the passages.
Sorry, I can't help with that.
I'm afraid I don't know.
Unfortunately, the documents do not say.
Unfortunately, there is no information about this in the documents.
I cannot answer this question based on the passages.
I can't find that in the documents.
I could not find an answer in the documents.
I am unable to determine that from the passages.
I'm unable to answer this.
I'm not able to help with that request.
I'm not sure.
I am not sure about that.
I have no information about that.
I have no idea.
I do not have enough information to answer the question.
I don't have access to real-time data.
I don't have that information.
As an AI language model, I don't have access to personal data.
I won't provide that.
The passages do not contain this information.
The provided passages don't mention aspirin.
The passages provided do not specify how Harry beat Quirrell.
The given context does not provide information about agent memory.
The context doesn't include an answer.
The text does not say.
The passage says nothing about that.
The documents are silent on this.
The document does not mention a deductible.
The document does not provide any information about fees.
The sources do not discuss it.
The passages contain no information about Quirrell.
The information provided does not answer the question.
These passages cannot answer the question.
Based on the provided context, I cannot answer the question.
Based on the passages, there is no information about Harry.
According to the documents, it is not stated who signed.
None of the passages answer the question.
Neither of the passages mentions it.
Neither passage mentions it.
No passage mentions it.
Nothing in the passages answers this.
There is no mention of Harry in the passages.
There is no information about agent memory.
There's not enough information to answer.
There is insufficient information in the context.
There is no answer to this question in the documents.
The answer is not in the passages.
The answer is not provided.
The answer to the question is not given in the passages.
The information is not available in the passages.
This information is not provided.
The question cannot be answered from the passages.
This question can't be answered with the given context.
Harry Potter is not mentioned in the passages.
The method by which Harry beat Quirrell is not described in the provided text.
It is not stated in the passages.
It is not clear from the passages.
It is unclear from the context.
It isn't specified whether pets are allowed.
It is not possible to say.
It is impossible to determine from the text.
Not mentioned.
Not stated in the passages.
Not specified.
Unknown.
Unclear.
No information is given about that.
No relevant information found.
No information about Harry is provided.
Not enough information.
Insufficient information to answer.
Cannot answer.
Cannot be determined from the passages.
No answer.
No answer found.
No mention of it.
N/A
None.
I don't know. The passages do not mention aspirin.
I don't know. They only describe mortgages. Ask a doctor.
Ich weiß es nicht.
Das weiß ich leider nicht.
Ich kann diese Frage nicht beantworten.
Ich kann die Frage anhand der Dokumente nicht beantworten.
Leider habe ich dazu keine Informationen.
Es tut mir leid, aber ich kann das nicht sagen.
Die Dokumente enthalten keine Informationen über den Preis.
Die vorliegenden Texte sagen dazu nichts.
Die Textstellen nennen keinen Preis.
Aus den Dokumenten geht nicht hervor, wer die Brücke entworfen hat.
In den Unterlagen finden sich dazu keine Angaben.
Dazu gibt es keine Angaben.
Es gibt keine Informationen über den Architekten.
Das wird in den Texten nicht erwähnt.
Das ist nicht angegeben.
Der Preis wird in den Dokumenten nicht genannt.
Keine Angabe.
Nicht bekannt.
Unbekannt.
Je ne sais pas.
Je l’ignore.
Désolé, je ne sais pas.
Malheureusement, je ne peux pas répondre à cette question.
Je suis désolé, mais je n’ai pas trouvé d’informations à ce sujet.
Je ne dispose pas d'informations sur ce point.
Les documents ne mentionnent pas le prix.
Les passages fournis ne précisent pas qui a construit le pont.
Le texte ne le dit pas.
Les documents ne contiennent aucune information sur le prix.
Il n'y a pas d'information sur le prix.
Ce n'est pas précisé.
La réponse n'est pas indiquée dans les documents.
Le prix n'est pas mentionné dans les textes.
Aucune information disponible.
Impossible de répondre.
Non précisé.
No lo sé.
Lo siento, no lo sé.
No tengo información sobre eso.
No puedo responder a esta pregunta.
Lamentablemente, los textos no lo mencionan.
Los documentos no mencionan el precio.
Los documentos no contienen información sobre el precio.
Según los documentos, no se indica quién lo construyó.
No se menciona en los pasajes.
No hay información sobre el precio.
La respuesta no aparece en los documentos.
El precio no se menciona en el texto.
Ninguna información.
No especificado.
No se sabe.
我不知道。
不知道。
抱歉，我不知道。
很抱歉，我无法回答这个问题。
无法确定。
根据提供的文档，无法确定桥的价格。
文档中没有提到价格。
这些段落没有说明是谁建造了这座桥。
文中未提及。
没有相关信息。
没有足够的信息来回答这个问题。
未提供该信息。
わかりません。
""".strip().splitlines()

ANSWERS = """
Die Dokumente enthalten keine personenbezogenen Daten von Kindern, nur Statistiken.
Die Dokumente dürfen nicht kopiert werden.
Die Bibliothek hat sonntags nicht geöffnet.
Ich weiß nicht genau, wann, aber die Brücke wurde wohl um 1920 eröffnet.
Leider stürzte die Brücke 1940 ein.
Keine Gebühr wird im ersten Jahr erhoben.
Es gibt keine Parkplätze am Museum.
Das ist nicht erlaubt.
Der Eintritt ist nicht kostenlos.
Unbekannte Anrufer werden gesperrt.
Les documents ne doivent pas quitter la salle.
Les chiens ne sont pas admis.
Il n'y a pas de parking.
Aucune réservation n'est nécessaire.
Je ne sais pas la date exacte, mais le pont a été ouvert au printemps 1921.
Malheureusement, le pont s'est effondré en 1940.
Le musée n'est pas ouvert le lundi.
La réponse est 42.
Los documentos no pueden salir de la sala.
No se admiten perros.
No hay aparcamiento.
No hay que reservar.
Lamentablemente, el puente se hundió en 1940.
No, el contrato no puede rescindirse antes.
No sé la fecha exacta, pero el puente se inauguró en la primavera de 1921.
文档不得带出阅览室。
没有停车场。
图书馆周日不开放。
不能提前终止租约。
抱歉的是，这座桥在1940年倒塌了。
我不知道确切日期，但是文档说这座桥于1921年春天开放。
不收费。
No interest is charged for 30 days.
There is no deductible.
Unknown callers are blocked.
The document does not expire.
The documents are not refundable.
The document does not cover flood damage.
The document does not provide for early termination.
The document does not include a signature page.
The document does not need a stamp.
The source is not safe to drink from.
The sources do not dry up in summer.
The information is not shared with third parties.
This information is not confidential.
Your information is not sold.
Your documents are not returned.
The context window is not larger than 4,096 tokens.
The context window does not include the system prompt.
The text message does not expire.
There is no evidence of life on Mars.
There is no data cap.
There is no passage between the two valleys.
There is no answering machine.
There is not enough evidence that it helps.
There is insufficient evidence for its use in children.
No passage through the gate is allowed after six.
No information may be disclosed to third parties.
No answer is accepted after the deadline.
No, the lease cannot be ended early.
No.
Nothing is charged in the first year.
None of the tenants may keep a dog.
Neither party may end the lease early.
It is not given to patients under 16.
It is not available in Canada.
It is not found outside Africa.
It is not clear water but brine.
It is unknown to science, and 3 cm long.
It is not possible to end the lease early.
It is impossible to overstate the effect.
I cannot recommend it to children, the doctor writes.
I do not have to pay, says the tenant.
Unfortunately, the bridge collapsed in 1940.
Sorry is what the speaker said to the tenants in 1998.
The answer is not 42 but 43.
The answer is 42.
The question is not whether it pays but when.
Not all tenants pay.
Not given to children, it is safe for adults.
The fee is not included in the price.
The library does not open on Sundays.
The library does not lend journals.
The material is not flammable.
The data is encrypted and is not stored.
The data do not leave the building.
Nobody knows who built it.
I don't know the exact figure, but the documents put the dose at about 500 mg a day.
The passages do not give the exact date, but the lease began in the spring of 2021.
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
    began = time.process_time()
    declines(unit * 5000)
    assert time.process_time() - began < 2

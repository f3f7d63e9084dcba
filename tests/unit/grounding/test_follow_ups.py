"""Which questions lean on what was asked before, in five languages: a new subject must not be taken for one."""

from __future__ import annotations

import time

import pytest

from core.types import Turn
from grounding.follow_ups import LONGEST_FOLLOW_UP, joined, leaned_on, leans

LEANING = {
    "en": """
And in Spain?
But is it legal?
What about tenants?
How about version 6.16.0?
BTW, how about version 6.16.0? Does it include any other changes?
Why?
Why not?
Why is that?
Where does it originate from?
Is American football derived from it?
How do I use them?
Did he write anything else?
When was she born?
How many people live there?
where to purchase those?
How much is it per month?
Which is the most popular?
How many teams?
Spousal support
The West branch.
anything on loss?
Then what does Vulnerability Advisor scan? what does it actually do?
Tell me more about the new commands
Does the same apply to subtenants?
Are there any others?
What does that mean?
Are dogs allowed too?
Does the landlord have to return it?
Since when?
For how long?
That was not my question.
Who owns that company?
What happens then?
can you clarify the registry you are mentioning here?
Thanks! And in winter?
Which one is cheaper?
What do they cost?
IS IT LEGAL?
in France?
How long does it take?
How tall is he?
Could you give me an example of that?
is that allowed in a rented flat
What was her first book?
Is there another one?
How does this differ from a lease?
What are the penalties for doing so?
What else is covered?
Any discount for students?
how so?
""",
    "de": """
Und in Spanien?
Was ist mit Untermietern?
Warum?
Warum nicht?
Wie viele Zimmer?
Wann wurde er geboren?
Was kostet es?
Wie hoch ist seine Kaution?
Wer wohnt dort?
Wofür braucht man sie?
Auch im Winter?
Welche davon ist die billigste?
Was passiert dann?
Aber wie lange dauert es?
""",
    "fr": """
Et en France ?
Pourquoi ?
Pourquoi pas ?
Combien de chambres ?
Où est-il né ?
Est-ce légal ?
Quelle est sa population ?
Combien ça coûte ?
Depuis quand ?
Comment le résilier ?
Qui habite là-bas ?
Quand a-t-elle été signée ?
C'est obligatoire ?
Sans préavis ?
Mais qui paie ?
Qu'en est-il des sous-locataires ?
Combien coûte-t-il ?
Peut-on la résilier ?
Pourquoi est-ce interdit ?
""",
    "es": """
¿Y en Francia?
¿Pero es legal?
¿Por qué?
¿Por qué no?
¿Cuándo nació?
¿Cuánto cuesta?
¿Cuál es su capital?
¿Qué significa eso?
¿Dónde puedo comprarlo?
¿Quién vive allí?
¿Cuántos equipos?
¿Desde cuándo?
¿Qué hay de los perros?
¿Es legal esto?
Y en invierno
¿Ella también firmó?
¿Cuándo murió?
¿Qué escribió?
¿Cómo se cancela?
¿Quién lo inventó?
¿Son venenosas?
¿Es obligatorio?
""",
    "zh": """
那德国呢？
德国呢？
为什么？
它多少钱？
这合法吗？
那里有多少人？
租客也适用吗？
还有别的吗？
它的首都是哪里？
那么押金呢？
什么时候？
这份合同什么时候到期？
但是谁来付钱？
上述规定适用于谁？
他们为什么离开？
这是谁写的？
其作者是谁？
""",
}
STANDING = {
    "en": """
Is it legal to record phone calls in Germany?
What time is it?
Is it true that cats always land on their feet?
Is there a pool in the hotel?
Are there any planets without a moon?
What is the weather like this year?
Who wrote Hamlet?
What are the grounds for lodging an appeal?
How do I file an order?
When did Einstein publish his papers?
How long does it take to get a visa?
How much does it cost to rent a car in Spain?
What happens to an employee if they resign?
Where can people report a scam that they have been affected by?
What is the notice period?
Do bees die after they sting?
Explain recursion
Define entropy
What is 17 times 23?
2+2?
Translate into German: Where is it?
Thank you!
Hello
What is the largest river in America?
Is it safe to eat raw eggs?
How far is it from Paris to Lyon?
Does the lease say that it ends in May?
How does a heat pump work, and is it loud?
How old was Einstein when he died?
What is the difference between version 3 and version 4?
Which country celebrates its independence on 4 July?
Is it raining in Oslo?
How many teams are in the NFL?
What does the manual say about cleaning the filter?
So what is the capital of France?
OK, how do I cancel my subscription?
How can one apply for a visa?
Is a jail sentence given for a child support conviction?
Is there a way for tenants to get their deposit back?
Can I schedule a status change to obsolete in a month?
What day is it today?
When does the tenant pay the rent?
Where American football is popular?
How to avoid child obesity?
If a tenant dies, who pays their rent?
What if I want to create an encrypted image since Vulnerability Advisor can not scan it?
sourdough starter recipe for absolute beginners
What does E42 mean?
Note down what the report says about costs.
What is the name of the director in the second report?
What is twice the notice period given in the agreement?
Which languages is the contract translated into?
Invent a riddle about fire.
What keeps the seal from rusting?
What are points on a mortgage?
What should I do if my landlord keeps my deposit?
Is it worth buying a used car?
Why is it that leaves turn red?
Is it a crime to jaywalk?
How can I tell whether an egg is fresh?
When does the new school year begin?
Does every employee have their own desk?
What happens when water freezes?
""",
    "de": """
Ist es erlaubt, Gespräche aufzuzeichnen?
Wie spät ist es?
Gibt es einen Pool im Hotel?
Wer schrieb Faust?
Wann beginnt das neue Schuljahr?
Wann schrieb Goethe seinen Faust?
Was ist das Bruttosozialprodukt?
Wann endet dieses Jahr die Frist?
Wie kann ich dafür sorgen, dass die Heizung läuft?
Können Sie mir die Frist nennen?
Stimmt es, dass Katzen immer auf den Pfoten landen?
Worum geht es in dem Vertrag?
Was passiert, wenn der Mieter stirbt und seine Erben nicht zahlen?
Erkläre Rekursion
Wie lange dauert die Lehre zum Koch?
Was muss ich tun, damit die Pflanze wächst?
Ist es möglich, früher zu kündigen?
Was the bridge closed because of rust?
Darf der Vermieter die Wohnung betreten?
Wie kann ich meinen Vertrag kündigen?
Hat Deutschland mehr Einwohner als Frankreich?
Warum schlafen Katzen so viel?
Welche Sprachen spricht man in der Schweiz?
""",
    "fr": """
Est-il légal d'enregistrer un appel ?
Quelle heure est-il ?
Y a-t-il une piscine dans l'hôtel ?
Pourquoi le ciel est-il bleu ?
Qui a écrit Les Misérables ?
Combien de planètes y a-t-il ?
Quand Einstein est-il né ?
Le locataire doit-il payer la taxe ?
Qu'est-ce que la TVA ?
Quel temps fait-il cette année à Paris ?
Est-ce que le loyer est fixe ?
Quand Hugo a-t-il publié ses poèmes ?
Il faut combien de temps pour guérir ?
Comment résilier le bail ?
Merci beaucoup !
Où se trouve la gare ?
C'est quoi la TVA ?
Est-il possible en France de résilier un bail ?
Quelle est la capitale de la France ?
Qui paie les réparations ?
Comment fonctionne une pompe à chaleur ?
Quel est le délai de préavis ?
Pourquoi les feuilles changent-elles de couleur ?
Les chiens sont-ils admis dans le jardin ?
Combien coûte un billet pour Lyon ?
""",
    "es": """
¿Es legal grabar llamadas?
¿Qué hora es?
¿Hay piscina en el hotel?
¿Por qué el cielo es azul?
¿Quién escribió el Quijote?
¿Cuántos planetas hay en el sistema solar?
¿Cuándo publicó Einstein sus artículos?
¿Cuál es la capital de Francia?
¿Dónde está la estación?
¿Cuánto dura este año el curso?
¿Cuándo termina el contrato?
Gracias
¿Qué pasa si el inquilino muere?
¿Cuándo nació Cervantes?
¿Es verdad que los gatos caen de pie?
¿Cómo puedo cancelar mi contrato?
¿Cuál es el plazo de preaviso?
¿Quién paga las reparaciones?
¿Cómo funciona una bomba de calor?
¿Por qué cambian de color las hojas?
¿Se admiten perros en el jardín?
¿Cuánto cuesta un billete a Madrid?
¿Qué idiomas se hablan en Suiza?
""",
    "zh": """
天空为什么是蓝色的？
现在几点了？
土耳其的首都是哪里？
吉他怎么调音？
其他国家的法律是什么？
这个月的租金是多少？
租客应该什么时候付房租？
爱因斯坦什么时候发表了他的论文？
录音电话合法吗？
谢谢
马耳他在哪里？
那不勒斯在哪里？
如果租客去世，他的押金归谁？
天空为什么是蓝色的呢？
通知期是多长？
热泵是怎么工作的？
狗可以进花园吗？
其中一个原因是什么？
为什么树叶会变红？
""",
}


def cases(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(language, line) for language, lines in table.items() for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("language", "question"), cases(LEANING))
def test_a_follow_up_leans_on_what_was_asked_before(language: str, question: str) -> None:
    assert leans(question)
    assert leans(question, language)


@pytest.mark.parametrize(("language", "question"), cases(STANDING))
def test_a_question_that_stands_alone_is_no_follow_up(language: str, question: str) -> None:
    assert not leans(question)
    assert not leans(question, language)


@pytest.mark.parametrize(
    "question",
    ["", "   ", "2+2?", "E dove si trova?", "それはいくらですか？", "А почему?", "그것은 얼마입니까?", "\x00"],
)
def test_in_doubt_a_question_stands_alone(question: str) -> None:
    assert not leans(question)


def test_a_long_message_says_itself_what_it_is_about() -> None:
    assert leans("And what about it?")
    assert not leans(f"And what about it? {'x' * LONGEST_FOLLOW_UP}")


@pytest.mark.parametrize(
    "text", ["is it " * 49, "that " * 59, "¿y " * 90, "it is legal " * 24, "(" * 299, "“" * 299, "这" * 299]
)
def test_no_text_takes_long(text: str) -> None:
    began = time.perf_counter()
    leans(text)
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(
    ("previous", "follow_up", "text"),
    [
        ("What is the notice period?", "And for  tenants?\n", "What is the notice period? And for tenants?"),
        ("mortgage points", "In Spain?", "mortgage points? In Spain?"),
        ("通知期是多长？", "那租客呢？", "通知期是多长？ 那租客呢？"),
        ("", "And for tenants?", "And for tenants?"),
    ],
)
def test_a_follow_up_is_joined_with_the_question_before_it(previous: str, follow_up: str, text: str) -> None:
    assert joined(previous, follow_up) == text


def test_a_joined_question_has_a_bounded_length_and_keeps_the_follow_up() -> None:
    text = joined("How long is the notice period? " * 300, "And for tenants?")
    assert len(text) < 450
    assert text.startswith("How long is")
    assert text.endswith("? And for tenants?")


def turn(question: str, standalone: str = "") -> Turn:
    return Turn(question=question, standalone=standalone or question, answer="It is so.", outcome="grounded")


LEASE, SKY = "How long does the lease run?", "Why is the sky blue?"


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ([], ""),
        ([turn(LEASE)], LEASE),
        ([turn(SKY), turn(LEASE)], LEASE),
        ([turn(LEASE), turn("And for tenants?", f"{LEASE} And for tenants?")], f"{LEASE} And for tenants?"),
        # of a chain the question that it began with, and its end
        (
            [
                turn(LEASE),
                turn("And for tenants?", f"{LEASE} And for tenants?"),
                turn("And in Spain?", f"{LEASE} And for tenants? And in Spain?"),
            ],
            f"{LEASE} And in Spain?",
        ),
        # what another program asked: nobody knows what it was taken to mean
        ([turn(LEASE), turn("And for tenants?")], f"{LEASE} And for tenants?"),
        # what a person or the model wrote stands alone
        ([turn(LEASE), turn("And for tenants?", "How long is a tenant's lease?")], "How long is a tenant's lease?"),
        ([turn(LEASE), turn("And for tenants?", f"{LEASE} And for tenants?"), turn(SKY)], SKY),
        ([turn("And for tenants?")], "And for tenants?"),
        ([turn(LEASE), turn("", "")], LEASE),
    ],
)
def test_what_a_follow_up_leans_on(turns: list[Turn], text: str) -> None:
    assert leaned_on(turns) == text


def test_a_chain_of_follow_ups_does_not_grow() -> None:
    turns = [turn(LEASE)]
    for number in range(30):
        question = f"And in case {number}?"
        turns.append(turn(question, joined(leaned_on(turns), question)))
    assert turns[-1]["standalone"] == f"{LEASE} And in case 28? And in case 29?"

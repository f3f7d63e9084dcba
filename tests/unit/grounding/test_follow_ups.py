"""Which questions lean on what was asked before, in five languages: a new subject must not be taken for one."""

import pytest

from core.types import Turn
from grounding.follow_ups import LONGEST_FOLLOW_UP, join_follow_up, leaned_on, leans
from tests.scripted import turn
from tests.unit.retrieval.documents.processor_time import bounded

LEANING = """
What about tenants?
How do I use them?
How many people live there?
Which is the most popular?
How many teams?
Does the same apply to subtenants?
What does that mean?
Are dogs allowed too?
Since when?
Who owns that company?
What happens then?
can you clarify the registry you are mentioning here?
Thanks! And in winter?
IS IT LEGAL?
What was her first book?
Is there another one?
How does this differ from a lease?
What are the penalties for doing so?
What else is covered?
Any discount for students?
Und in Spanien?
Was ist mit Untermietern?
Was kostet es?
Wie hoch ist seine Kaution?
Wofür braucht man sie?
Auch im Winter?
Was passiert dann?
Et en France ?
Combien de chambres ?
Où est-il né ?
Quelle est sa population ?
Combien ça coûte ?
Depuis quand ?
Comment le résilier ?
C'est obligatoire ?
¿Y en Francia?
¿Cuándo nació?
¿Dónde puedo comprarlo?
¿Quién vive allí?
¿Cuántos equipos?
¿Desde cuándo?
¿Qué hay de los perros?
¿Ella también firmó?
¿Cómo se cancela?
¿Quién lo inventó?
¿Son venenosas?
德国呢？
为什么？
这合法吗？
租客也适用吗？
什么时候？
但是谁来付钱？
上述规定适用于谁？
""".strip().splitlines()
STANDING = """
What is the IT budget?
What is the same-day delivery fee?
Is it legal to record phone calls in Germany?
What time is it?
Is it true that cats always land on their feet?
Is there a pool in the hotel?
What is the weather like this year?
Who wrote Hamlet?
What happens to an employee if they resign?
Do bees die after they sting?
Explain recursion
2+2?
Thank you!
How far is it from Paris to Lyon?
Does the lease say that it ends in May?
How old was Einstein when he died?
Which country celebrates its independence on 4 July?
Is it raining in Oslo?
What if I want to create an encrypted image since Vulnerability Advisor can not scan it?
Is it worth buying a used car?
Why is it that leaves turn red?
Ist es erlaubt, Gespräche aufzuzeichnen?
Wie spät ist es?
Gibt es einen Pool im Hotel?
Wann beginnt das neue Schuljahr?
Wann endet dieses Jahr die Frist?
Wie kann ich dafür sorgen, dass die Heizung läuft?
Stimmt es, dass Katzen immer auf den Pfoten landen?
Worum geht es in dem Vertrag?
Erkläre Rekursion
Was muss ich tun, damit die Pflanze wächst?
Le locataire doit-il payer la taxe ?
Quel temps fait-il cette année à Paris ?
Il faut combien de temps pour guérir ?
C'est quoi la TVA ?
Est-il possible en France de résilier un bail ?
Pourquoi les feuilles changent-elles de couleur ?
¿Cuánto dura este año el curso?
吉他怎么调音？
其他国家的法律是什么？
这个月的租金是多少？
爱因斯坦什么时候发表了他的论文？
马耳他在哪里？
那不勒斯在哪里？
天空为什么是蓝色的呢？
""".strip().splitlines()


@pytest.mark.parametrize("question", LEANING)
def test_a_follow_up_leans_on_what_was_asked_before(question: str) -> None:
    assert leans(question)


IN_DOUBT = ["", "   ", "E dove si trova?", "それはいくらですか？", "А почему?", "그것은 얼마입니까?", "\x00"]


@pytest.mark.parametrize("question", [*STANDING, *IN_DOUBT])
def test_a_question_that_stands_alone_is_no_follow_up_nor_is_one_in_doubt(question: str) -> None:
    assert not leans(question)


def test_a_long_message_says_itself_what_it_is_about() -> None:
    assert leans("And what about it?")
    assert not leans(f"And what about it? {'x' * LONGEST_FOLLOW_UP}")


@pytest.mark.parametrize(
    "text", ["is it " * 49, "that " * 59, "¿y " * 90, "it is legal " * 24, "(" * 299, "“" * 299, "这" * 299]
)
def test_no_text_takes_long(text: str) -> None:
    with bounded(0.5):
        leans(text)


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
    assert join_follow_up(previous, follow_up) == text


def test_a_joined_question_has_a_bounded_length_and_keeps_the_follow_up() -> None:
    text = join_follow_up("How long is the notice period? " * 300, "And for tenants?")
    assert len(text) < 450
    assert text.startswith("How long is")
    assert text.endswith("? And for tenants?")


LEASE, SKY = "How long does the lease run?", "Why is the sky blue?"
TENANTS = f"{LEASE} And for tenants?"


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ([], ""),
        ([turn(LEASE)], LEASE),
        ([turn(SKY), turn(LEASE)], LEASE),
        ([turn(LEASE), turn("And for tenants?", standalone=TENANTS)], TENANTS),
        # of a chain the question that it began with, and its end
        (
            [
                turn(LEASE),
                turn("And for tenants?", standalone=TENANTS),
                turn("And in Spain?", standalone=f"{TENANTS} And in Spain?"),
            ],
            f"{LEASE} And in Spain?",
        ),
        # what another program asked: nobody knows what it was taken to mean
        ([turn(LEASE), turn("And for tenants?")], TENANTS),
        # what a person or the model wrote stands alone
        (
            [turn(LEASE), turn("And for tenants?", standalone="How long is a tenant's lease?")],
            "How long is a tenant's lease?",
        ),
        ([turn(LEASE), turn("And for tenants?", standalone=TENANTS), turn(SKY)], SKY),
        ([turn("And for tenants?")], "And for tenants?"),
        ([turn(LEASE), turn("")], LEASE),
    ],
)
def test_what_a_follow_up_leans_on(turns: list[Turn], text: str) -> None:
    assert leaned_on(turns) == text


def test_a_chain_of_follow_ups_does_not_grow() -> None:
    turns = [turn(LEASE)]
    for number in range(30):
        question = f"And in case {number}?"
        turns.append(turn(question, standalone=join_follow_up(leaned_on(turns), question)))
    assert turns[-1]["standalone"] == f"{LEASE} And in case 28? And in case 29?"

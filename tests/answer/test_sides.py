"""Which views an opinion's answer quotes, and under which side they stand."""

import numpy as np
import pytest

from adaptive_rag.answer.by_aspect import ANALYTICAL_STYLE
from adaptive_rag.answer.by_side import OPINION_STYLE
from adaptive_rag.answer.draft import extract_answer
from adaptive_rag.answer.request import AnswerRequest, Aspect
from adaptive_rag.answer.sides import ALL_WORDS, NEITHER_HEADING, NO_VIEW
from adaptive_rag.answer.statements import is_view, may_stand
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.stances import AGAINST, FOR, view_strength
from adaptive_rag.source import Sentences
from adaptive_rag.text.sentences import sentence_spans
from tests.answer.made import candidate

FOR_HEADING, AGAINST_HEADING = (f"**{label[:1].upper()}{label[1:]}**" for label in (FOR, AGAINST))
QUESTION = "Should the sea wall be raised?"
PRO = "A higher sea wall protects homes and keeps families safe"
CON = "A higher sea wall is a waste of money and ruins the beach"
RUIN = "A higher sea wall ruins the beach and costs a fortune"
FACT = "The sea wall has fourteen gates and a walk on top"


def answered(texts, question=QUESTION, *, labels=(FOR, AGAINST), missing=None, style=OPINION_STYLE):
    documents = [candidate(text, source=f"{i}.txt", labels=labels) for i, text in enumerate(texts)]
    encode = load_minilm().encode
    found = []
    for text in texts:
        spans = sentence_spans(text, 0)
        found.append(
            Sentences(spans=np.array(spans), vectors=encode([text[start:end] for start, end in spans]))
        )
    aspects = [Aspect(label, encode([label])[0]) for label in labels]
    return extract_answer(
        AnswerRequest(
            question=question,
            style=style,
            documents=documents,
            sentences=found,
            question_vector=encode([question])[0],
            aspects=aspects,
            missing=missing,
        )
    ).text


def under(answer):
    """Return the text under each heading, "" above the first one."""
    blocks = {}
    for block in answer.split("\n\n"):
        heading, newline, body = block.partition("\n")
        blocks |= {heading: body} if heading.startswith("**") and newline else {"": block}
    return blocks


def test_views_without_a_full_stop_are_quoted_beside_those_that_have_one():
    blocks = under(answered([f"{PRO}.", CON, FACT + "."]))
    assert PRO in blocks[FOR_HEADING]
    assert f"{CON}. [2]" in blocks[AGAINST_HEADING]


def test_what_takes_no_side_clearly_stands_under_none():
    blocks = under(answered([PRO, CON, "Some want the sea wall raised in two steps"]))
    assert "two steps" in blocks[f"**{NEITHER_HEADING}**"]


def test_where_no_passage_takes_a_side_the_views_stand_without_headings():
    answer = answered([PRO, RUIN], labels=())
    assert PRO in answer and RUIN in answer and "**" not in answer


TITLES = [
    "Record of the public debate on raising the sea wall, held in Pellhythe on 12 November 2024.",
    "I'm asked whether the wall should be raised.",
    "The Long Wall was built between 1955 and 1958.",
    "Sea walls.",
    "No.",
]
NEUTRAL = [
    "The parish council has nine members, who are elected for four years.",
    "Dogs must be kept on a lead on top of the wall.",
    "A groyne is a low barrier of wood or stone that runs into the sea.",
    "Applications must be handed in to the clerk by the end of March.",
    "The gauge on the pier has been read twice a day since 1911.",
]


def strength(text):
    return float(view_strength(load_minilm().encode([text]))[0])


@pytest.mark.parametrize("text", TITLES + NEUTRAL)
def test_titles_events_definitions_and_rules_are_no_views(text):
    assert not may_stand(text, judges=is_view(text, strength(text)), alone=False)


@pytest.mark.parametrize("text", TITLES)
def test_titles_and_events_are_not_quoted_beside_views(text):
    assert text not in answered([f"{PRO}.", f"{CON}.", text])


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("Critics said in 2019 that the wall should stay as it is.", False),
        ("The new wall is an ugly waste of money.", False),
        ("A higher wall would make life in the lower town much safer.", False),
        ("I regret the decision.", False),
        ("Concrete starts to age on the day it is poured.", True),
    ],
)
def test_who_judges_reports_or_gives_a_reason_holds_a_view(text, alone):
    assert may_stand(text, judges=is_view(text, strength(text)), alone=alone)


def test_a_title_is_no_view_though_it_is_a_passage_of_its_own():
    assert "Higher Sea Walls" not in answered([PRO, CON, "The Benefits of Higher Sea Walls for Homes"])


def test_where_nobody_takes_a_stand_the_nearest_facts_are_quoted():
    answer = answered(["The sea wall was raised in 1958. The sea wall was raised again in 1971."])
    assert "1958" in answer and "**" not in answer


def test_nothing_stands_under_a_side_that_is_said_to_be_missing():
    blocks = under(answered([PRO, RUIN], missing="against"))
    assert AGAINST_HEADING not in blocks and FOR_HEADING in blocks
    assert "none against it" in blocks[""]


def test_many_long_views_of_both_sides_stay_short_together():
    reasons = ("storms", "winters", "spring tides", "the harbour", "the school", "the old town", "visitors")
    texts = [
        f"{view}, which is what most people who live near the water say when they speak of {reason}."
        for reason in reasons
        for view in (PRO, CON)
    ]
    answer = answered(texts)
    assert FOR_HEADING in answer and AGAINST_HEADING in answer
    assert len(answer.split()) <= ALL_WORDS + 40


DEBATE = (
    "**Nadia Petrov:** I am for the closure. The air would be cleaner at the nursery on the High Street.\n\n"
    "**Gordon Haye (butcher):** I am against it. A third of our customers come by car from the villages.\n\n"
    "The council was founded in 1894 and has nine members.\n\n"
    "**Christine Bell:** I oppose the closure, because the traffic will move to my street."
)
STREET = "Should the High Street be closed to cars?"


def test_what_somebody_says_stands_under_the_side_that_they_declare():
    blocks = under(answered([DEBATE], STREET))
    assert "Nadia Petrov: “I am for the closure.” [1] “The air" in blocks[FOR_HEADING]
    assert (
        "Gordon Haye (butcher): “I am against it.” [1] “A third of our customers" in blocks[AGAINST_HEADING]
    )
    assert "Christine Bell: “I oppose" in blocks[AGAINST_HEADING]
    assert not any("1894" in block for block in blocks.values())


def test_the_answer_begins_with_how_many_views_of_how_many_people_it_quotes():
    answer = answered([DEBATE], STREET)
    assert answer.startswith("3 views of 3 people: 1 for it and 2 against it.\n\n")


def test_who_is_named_in_the_question_is_quoted_alone():
    answer = answered([DEBATE], "What does Gordon Haye think of closing the High Street?")
    assert "I am against it." in answer
    assert "Petrov" not in answer and "Bell" not in answer and "**" not in answer


def test_documents_that_hold_no_opinion_are_said_to_hold_none():
    answer = answered(
        ["The sea wall is 2.3 kilometres long. It was built of stone in 1958. It has fourteen gates."],
        "What do people think of the sea wall?",
    )
    assert answer.startswith(NO_VIEW)
    assert "2.3 kilometres" in answer and "**" not in answer


def test_what_may_ask_for_opinions_is_an_analysis_where_none_is_held():
    boats = ["The Tern was built in 1921 and takes five people.", "The Heron was built in 1934."]
    question = "tern or heron, what is the difference?"
    assert answered(boats, question).startswith(NO_VIEW)
    answer = answered(boats, question, style=ANALYTICAL_STYLE)
    assert NO_VIEW not in answer and "1921" in answer and "1934" in answer


def test_nobody_is_called_missing_who_says_that_they_are_there():
    blocks = under(answered([DEBATE], STREET, missing="against"))
    assert "none against" not in blocks[""] and "Gordon Haye" in blocks[AGAINST_HEADING]


def test_views_of_another_document_on_something_else_are_left_out():
    bench = "I am against it. The bench at the pond is a waste of money, and I doubt that anybody sits there."
    assert "bench" not in answered([DEBATE, bench], STREET)


def test_what_reports_both_sides_leads_under_no_heading():
    both = "The people are divided: some fear for the shops, others want a street closed to cars."
    blocks = under(answered([f"{both}\n\n{DEBATE}"], STREET))
    assert both in blocks[""]
    assert both not in blocks[FOR_HEADING] + blocks[AGAINST_HEADING]


def test_the_tone_of_a_speaker_who_declares_for_no_side_puts_them_under_none():
    grumble = (
        "**Irene Calloway:** The street is full of terrible, dangerous and harmful cars, and I hate them."
    )
    blocks = under(answered([f"{DEBATE}\n\n{grumble}"], STREET))
    assert "Irene Calloway" in blocks[f"**{NEITHER_HEADING}**"]


def test_a_question_for_one_side_is_not_answered_with_the_other():
    answer = answered([DEBATE], "What speaks against closing the High Street to cars?")
    assert "Gordon Haye" in answer and "Christine Bell" in answer and "Petrov" not in answer


def test_at_most_two_sentences_of_one_speaker_stand_under_a_heading():
    reasons = [f"The closed street helps {word}." for word in ("bees", "nurses", "music", "shops")]
    answer = answered([f"**Nadia Petrov:** I am for the closure. {' '.join(reasons)}"], STREET)
    assert sum(reason in answer for reason in reasons) <= 2


def test_the_group_whose_views_are_asked_for_is_heard():
    letters = (
        "Sir, - I think homework is a help.\nAda Byrne, bus driver\n\n"
        "Sir, - My daughter reads for pleasure since homework ended.\nSamira Khalil, mother of a pupil"
    )
    assert "Samira Khalil" in answered([letters], "What do parents think of homework?")


def test_a_side_that_is_called_missing_but_declared_is_quoted_where_it_is_asked_for():
    answer = answered([DEBATE], "What are the arguments against closing the High Street?", missing="against")
    assert "Gordon Haye" in answer


LETTERS = (
    "Sir,\nI drive the number 12 bus. The diversion by Station Road would add nine minutes to each journey.\n"
    "Dean Fairlie, Marling\n\nSir,\nI am against the closure of the High Street, and so are my customers.\n"
    "Bernard Oakes, Oakes & Daughter\n\nSir,\nI should like to see some evidence on the High Street first.\n"
    "Ruth Ellison, Church Walk"
)


def test_who_is_asked_by_what_they_are_is_quoted_alone():
    answer = answered([LETTERS], "what does the bus driver think about closing the high street")
    assert "nine minutes" in answer
    assert "Oakes" not in answer and "I drive" not in answer and "**" not in answer


def test_who_takes_no_side_is_left_out_where_one_is_asked_for():
    answer = answered([LETTERS], "who is against closing the high street")
    assert "Bernard Oakes" in answer and "Ellison" not in answer


REVIEWS = (
    "What guests wrote\n\n5 stars, Ola B., May\nThe rooms look out on the lake. We slept well.\n\n"
    "1 star, NightOwl, June\nThe lift was out of order for three days.\n\n"
    "2 stars, Ed Moss, July\nNobody was at the desk when we came."
)


def test_reviews_stand_under_the_side_of_their_rating():
    blocks = under(answered([REVIEWS], "is the hotel any good", labels=()))
    assert "Ola B." in blocks[FOR_HEADING]
    assert "NightOwl" in blocks[AGAINST_HEADING] and "Ed Moss" in blocks[AGAINST_HEADING]


def test_a_rating_tells_nothing_of_what_another_document_is_on():
    answer = answered([LETTERS, REVIEWS], "what do people think about closing the high street", labels=())
    assert "Bernard Oakes" in answer and "NightOwl" not in answer


def test_the_family_that_is_asked_about_is_nobodys_name():
    posts = "5 stars, Family Osei, March\nGood bells.\n\n4 stars, Ann Lee, April\nGood lamps and bells."
    assert "Ann Lee" in answered([posts], "what did the family think of the lamps", labels=())


def test_views_of_which_most_take_no_side_stand_without_headings():
    reviews = [
        "The breakfast with home-made marmalade was the best we have had in years.",
        "Breakfast was nice, but we were asked to leave the table.",
        "I liked that the breakfast was served on the terrace.",
    ]
    names = ("Ana Ruiz", "Ben Otter", "Cleo Hart")
    texts = [f"**{name}:** {text}" for name, text in zip(names, reviews, strict=True)]
    answer = answered(["\n\n".join(texts)], "what do guests say about the breakfast")
    assert "marmalade" in answer and "leave the table" in answer and "**" not in answer


def test_a_message_that_replies_to_a_question_on_the_matter_is_heard():
    chat = (
        "[09:15] Petra: do we want to move the import to the replica instead?\n"
        "[09:21] Jonas: i would rather not, it lags\n[15:30] Lucia: who brings the cake for the party?"
    )
    answer = answered([chat], "what did the team think of moving the import to the replica")
    assert "it lags" in answer and "cake" not in answer


BUS = """# Should the 41 go by the hospital?

Ann Tibbs: I am against it. Let them send a minibus to the hospital instead.

Sam Okoro: I don't think that it is a good plan.

P. Grell: The library should never have been shut. It was the best thing in this town, and I miss it."""


def test_of_a_debate_only_who_names_the_matter_is_heard_where_most_speak_of_another():
    answer = answered([BUS], "What do people think of the library?")
    assert "library should never" in answer and "minibus" not in answer and "good plan" not in answer


def test_who_speaks_of_the_matter_without_its_name_is_heard_where_the_debate_is_about_it():
    answer = answered([BUS], "What do people think of sending the 41 by the hospital?")
    assert "minibus" in answer and "good plan" in answer


def test_what_nobody_says_stands_beside_no_voices():
    frame = "Each speaker on the street had five minutes, and speeches were approved by those who gave them."
    book = "A street is a weakness that is paid for by the others, and a bad one as opposed to a square."
    answer = answered([f"{DEBATE}\n\n{frame}", book], STREET)
    assert "approved" not in answer and "square" not in answer


def test_people_are_counted_where_each_view_has_its_speaker():
    told = answered([DEBATE, "Critics fear that the closure of the street harms the shops."], STREET)
    assert "Critics fear" in told and "Gordon Haye" in told
    assert "views: " in told.splitlines()[0] and "people" not in told.splitlines()[0]

import pytest

from adaptive_rag.answer.forms import expected_form
from adaptive_rag.text.words import terms


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("What is Explainable AI (XAI)?", "definition"),
        ("What is 'Explainable AI' and why is it considered important?", "definition"),
        ("Who was Hypatia?", "definition"),
        ("Define machine learning.", "definition"),
        ("What is the role of AI in smart grids?", "other"),
        ("Who worked on the Inverse Problem of Tangents?", "person"),
        ("Which mathematician proved it?", "person"),
        ("When was the workshop held?", "time"),
        ("In which year did the wall break?", "time"),
        ("How many homes were flooded?", "number"),
        ("What percentage of homes is insured?", "number"),
        ("how much would the roof cost", "money"),
        ("What do we pay for the hall?", "money"),
        ("price of the T-210", "money"),
        ("How much sugar is in it?", "number"),
        ("Where is the rest centre?", "place"),
        ("The Romans employed three kinds of notation, which ones?", "list"),
        ("Why did the wall fail?", "other"),
        ("When the makers brought out their own cars, which policy ended?", "other"),
    ],
)
def test_the_form_of_the_answer_is_read_from_the_question(question, form):
    assert expected_form(question).form == form


@pytest.mark.parametrize(
    ("question", "better", "worse"),
    [
        ("What is a qubit?", "A qubit is the unit of quantum information.", "Many a qubit decays quickly."),
        ("What is a cobot?", "A cobot refers to a robot that works beside people.", "Cobots sell well."),
        ("What is XAI?", "XAI aims to make models understandable.", "XAI is used in both cases."),
        ("When was the wall built?", "The wall was built in 1956.", "The wall was built by hand."),
        ("When was Euler born?", "Euler (1707–1783) wrote much.", "Euler wrote to Goldbach in 1742."),
        ("When is the rent due?", "It is due on the third day of each month.", "It is due by transfer."),
        ("When is the next meeting?", "Next meeting: 12 November, 7.30 pm.", "The meeting fined two boats."),
        ("What does the roof cost?", "The roof costs £640,000.", "The roof takes eighteen months."),
        ("How many people came?", "231 people came.", "It was held on 12 November."),
        ("How many drowned in the mine?", "Nineteen were drowned.", "The mine closed in the 1870s."),
        ("How many drowned?", "Nineteen were drowned.", "The 1870s were bad years for the mine."),
        ("Which country signed it?", "Greenland signed it in 1985.", "It was signed in 1985."),
        ("How long is the lease?", "It runs for three years.", "It has two parking spaces."),
        ("How heavy is it?", "It weighs 12.5 kg.", "It has 12 shelves."),
        ("How much does it cost?", "It costs 38 pence.", "The takings fell by 38 per cent."),
        ("Who invented logarithms?", "They were invented by Napier.", "They were invented in a castle."),
        ("Where did Euclid teach?", "He taught at Alexandria.", "He taught geometry to kings."),
        ("Where are the settings?", "They stand in `~/.config/kiln.toml`.", "They stand in order."),
        ("Where is the stopcock?", "It is behind the dryer.", "It is a quarter turn."),
        ("Which kinds of walls, which ones?", "Stone, brick, and earth walls.", "The walls are of stone."),
    ],
)
def test_a_sentence_of_the_right_form_fits_better(question, better, worse):
    expected, asked = expected_form(question), set(terms(question))

    assert expected.fit(better, asked) > expected.fit(worse, asked)

"""Which cells of a table's row an answer shows."""

from functools import partial

import pytest

from adaptive_rag.answer.rows import say_row
from adaptive_rag.answer.score import score_lines
from adaptive_rag.models.reader import load_reader

OAK = (
    ("article", "Oak"), ("Price (£)", "12.40"), ("Height (m)", "5.10"), ("Cost £", "6.2"), ("Sold, %", "4"),
)  # fmt: skip
CASSETTE = (
    ("part", "BP-7"),
    ("product", "Cassette 11-42"),
    ("category", "Drivetrain"),
    ("price", "79.90"),
    ("stock", "8"),
    ("weight g", "445"),
)
SITES = (
    ("", "Floor area, m²"), ("Tannery Lane (stay)", "1,150"), ("Unit 7, Mill Park", "2,400"),
    ("Old Barn", "900"),
)  # fmt: skip
WEIGHTS = (("", "Pump"), ("D300, new (kg)", "12"), ("D400 (kg)", "15"))
MODELS = (("Property", "Weight"), ("D300", "12.8 kg"), ("D300 Pro", "15.6 kg"))


@pytest.mark.parametrize(
    ("cells", "question", "said"),
    [
        (CASSETTE, "price of the cassette", "BP-7: product Cassette 11-42, price 79.90"),
        ((("", "Tank"), ("value", "3.8 litres")), "how big is the tank", "Tank: 3.8 litres"),
        ((("grade", "3"), ("job", "Kiln")), "What does grade 3 do?", "Grade 3: job Kiln"),
        ((("year", "2021"), ("visits", "64")), "How many visits?", "2021: visits 64"),
        ((("tool", "Drill"), ("fee (pounds)", "30")), "What is the fee?", "Drill: fee 30 pounds"),
        ((("day", "Mon"), ("pool", "Main"), ("°C", "26")), "main pool, warm?", "Mon: pool Main, °C 26"),
        (
            (("", "Rent"), ("amount", "£900"), ("when", "1 May 2024 to 30 April 2025")),
            "when is the rent £900",
            "Rent: £900, 1 May 2024 to 30 April 2025",
        ),
        ((("", "Rosa"), ("what", "Signs"), ("until", "31 May")), "Rosa's job?", "Rosa: Signs, until 31 May"),
        ((("level", "2"), ("what happens", "We close")), "Level 2?", "Level 2: what happens: We close"),
        (OAK, "the oak", "Oak: price £12.40, height 5.10 m, cost £6.20, sold 4 %"),
        (
            (("setting", "cache.size"), ("default", "256"), ("unit", "MiB"), ("effect", "Holds rows")),
            "What is the default size?",
            "cache.size: default 256, unit MiB",
        ),
        (MODELS, "How heavy are the D300 and the D300 Pro?", "Weight: 12.8 kg (D300), 15.6 kg (D300 Pro)"),
        ((("Stop", "Mill"), ("Train 3", "11"), ("Train 5 (S)", "14")), "train 5", "Mill: 14 (Train 5 (S))"),
        ((("", "Drill"),), "where is the drill", "Drill"),
        (
            SITES,
            "Compare Tannery Lane with Unit 7",
            "Floor area, m²: 1,150 (Tannery Lane, stay), 2,400 (Unit 7, Mill Park)",
        ),
        (WEIGHTS, "How heavy is the pump?", "Pump: 12 kg (D300, new), 15 kg (D400)"),
    ],
)
def test_a_row_is_shown_with_the_cells_that_are_asked_for(cells, question, said):
    assert say_row(cells, question) == said


BED = (
    ("plot", "R2"), ("size", "raised"), ("holder", "Graham Stott"), ("rent gbp", "10.00"),
    ("paid on", "2024-03-12"), ("notes", "wheelchair user"),
)  # fmt: skip
COURSE = (("course", "Aqua Natal"), ("day", "Friday"), ("time", "12.15"), ("teacher", "Zoe"), ("price", "£9"))


@pytest.mark.parametrize(
    ("cells", "question", "said"),
    [
        (BED, "who is the tenant of R2?", "R2: holder Graham Stott"),
        (COURSE, "who teaches aqua natal", "Aqua Natal: teacher Zoe"),
        (COURSE, "when is aqua natal", "Aqua Natal: day Friday, time 12.15"),
        (COURSE, "tell me about it", "Aqua Natal: day Friday, time 12.15, teacher Zoe, price £9"),
    ],
)
def test_the_reader_says_for_which_cells_a_question_asks(cells, question, said):
    assert say_row(cells, question, partial(score_lines, question, load_reader())) == said

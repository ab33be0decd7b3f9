import re
from dataclasses import replace
from functools import partial

import pytest

from adaptive_rag.answer.by_aspect import ANALYTICAL_STYLE
from adaptive_rag.answer.by_side import OPINION_STYLE
from adaptive_rag.answer.draft import extract_answer
from adaptive_rag.answer.factual import FACTUAL_STYLE
from adaptive_rag.answer.for_situation import CONTEXTUAL_STYLE
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle, Block
from adaptive_rag.answer.styles import STYLES
from tests.answer.made import candidate, request, vector, without_markers

WALL = (
    "The Long Wall is a sea wall of stone that protects the low town. It is 2.3 kilometres long. "
    "The wall was built between 1955 and 1958. Visitors like the harbour for its herring gulls."
)
MARSH = (
    "Salt marsh slows the waves before they reach the wall. Critics say that the marsh costs farmers land. "
    "The marsh benefits birds and stores carbon. Sheep graze there in summer."
)


def check(answer, documents):
    """Every sentence has its marker, and every quote stands where its citation says."""
    body = "\n".join(line for line in answer.text.splitlines() if not line.startswith("**"))
    assert re.sub(r"[^\[]*?\S \[\d+\]\s*", "", body) == ""
    assert len(re.findall(r"\[\d+\]", body)) == len(answer.citations)
    for citation in answer.citations:
        document = documents[citation["marker"] - 1]
        start, end = (citation[key] - document["start"] for key in ("start", "end"))
        assert document["text"][start:end] == citation["quote"]
        assert citation["source"] == document["source"]
        assert " ".join(citation["quote"].split()) in answer.text


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is the Long Wall?", "The Long Wall is a sea wall of stone that protects the low town."),
        ("When was the wall built?", "The wall was built between 1955 and 1958."),
        ("What slows the waves?", "Salt marsh slows the waves before they reach the wall."),
    ],
)
def test_a_factual_answer_begins_with_the_sentence_that_answers(question, first):
    documents = [candidate(WALL), candidate(MARSH, source="marsh.txt")]

    answer = extract_answer(request(question, documents))

    assert without_markers(answer)[0] == first
    assert 1 <= len(answer.citations) <= 4
    check(answer, documents)


def test_a_sentence_that_refers_back_brings_the_one_before():
    documents = [candidate("The Long Wall stands on Fish Quay. It has fourteen iron gates and a ramp.")]

    answer = extract_answer(request("How many gates has the harbour of Port Amis?", documents))

    assert without_markers(answer) == [
        "The Long Wall stands on Fish Quay.",
        "It has fourteen iron gates and a ramp.",
    ]


def test_a_sentence_that_names_what_is_asked_about_leads_the_answer_though_it_refers_back():
    documents = [candidate("The Long Wall stands on Fish Quay. It has fourteen iron gates and a ramp.")]

    answer = extract_answer(request("How many iron gates and ramps?", documents))

    assert without_markers(answer)[0] == "It has fourteen iron gates and a ramp."


@pytest.mark.parametrize(
    ("text", "question", "said"),
    [
        (
            "The debate on the wall was held in 2024. 231 people attended.",
            "How many people came to the debate?",
            "231",
        ),
        (
            "Big Meg is a turbine on the hill. It has a capacity of 2.3 megawatts.",
            "What is the capacity of Big Meg?",
            "2.3",
        ),
        (
            "The borehole stood in Saltpan Road. It was closed in 2019.",
            "When was the Saltpan Road borehole closed?",
            "2019",
        ),
    ],
)
def test_the_sentence_beside_that_has_what_was_asked_for_is_found(text, question, said):
    filler = candidate("Gulls nest on the roofs. The museum shows old boats and nets.", source="filler.txt")

    assert said in extract_answer(request(question, [candidate(text), filler])).text


def test_a_fact_leads_where_the_sentence_before_only_names_what_was_asked_about():
    documents = [candidate("The Long Wall stands on Fish Quay. It was given fourteen gates in 1961.")]

    answer = extract_answer(request("When was the Long Wall of Fish Quay given them?", documents))

    assert without_markers(answer)[0] == "It was given fourteen gates in 1961."


def test_a_row_that_no_sentence_comes_near_is_the_answer():
    documents = [
        candidate("Home office equipment 250 pounds every three years People team"),
        candidate("Gulls nest on the roofs. The museum shows old boats and nets.", source="filler.txt"),
    ]

    answer = extract_answer(request("Who approves home office equipment?", documents))

    assert without_markers(answer) == ["Home office equipment 250 pounds every three years People team"]


def test_a_chunk_that_begins_in_the_middle_is_not_quoted_from_its_dangling_sentence():
    documents = [candidate("It has fourteen iron gates. The iron gates are closed at dusk.", start=900)]

    answer = extract_answer(request("Which iron gates?", documents))

    assert without_markers(answer) == ["The iron gates are closed at dusk."]


def test_repeated_sentences_are_shown_once():
    copies = [candidate(WALL, source=f"copy{n}.txt") for n in range(4)]

    sentences = without_markers(extract_answer(request("When was the wall built?", copies)))

    assert len(sentences) == len(set(sentences))


def test_an_analytical_answer_has_a_paragraph_for_each_sub_question():
    sub_questions = ["How does the marsh slow the waves?", "When was the wall built?"]
    documents = [
        candidate(MARSH, labels=sub_questions[:1]),
        candidate(WALL, source="w", labels=sub_questions[1:]),
    ]

    answer = extract_answer(
        request("How do marsh and wall protect?", documents, style=ANALYTICAL_STYLE, aspects=sub_questions)
    )

    headings = re.findall(r"^\*\*(.+)\*\*$", answer.text, re.M)
    assert headings == sub_questions
    marsh, wall = answer.text.split("\n\n")
    assert "slows the waves" in marsh and "1955" in wall
    check(answer, documents)


def test_no_sentence_serves_two_aspects():
    aspects = ["benefits of the marsh", "value of the marsh"]
    documents = [candidate(MARSH, labels=aspects)]

    answer = extract_answer(request("Is the marsh good?", documents, style=OPINION_STYLE, aspects=aspects))

    quotes = [citation["quote"] for citation in answer.citations]
    assert len(quotes) == len(set(quotes)) > 0


def test_an_opinion_answer_keeps_the_sides_apart():
    aspects = ["arguments for the marsh", "arguments against the marsh"]
    documents = [candidate(MARSH, labels=aspects)]

    answer = extract_answer(
        request("Should we have the marsh?", documents, style=OPINION_STYLE, aspects=aspects)
    )

    blocks = {block.split("\n")[0].strip("*"): block for block in answer.text.split("\n\n")}
    assert "benefits birds" in blocks["Arguments for the marsh"]
    assert "Critics say" in blocks["Arguments against the marsh"]
    assert "Critics say" not in blocks["Arguments for the marsh"]
    check(answer, documents)


def test_a_viewpoint_that_nobody_holds_is_left_out():
    aspects = ["benefits of the wall", "risks of quantum teleportation"]
    documents = [
        candidate("The wall benefits the town. Every street behind the wall stays dry.", labels=aspects)
    ]

    answer = extract_answer(request("Is the wall good?", documents, style=OPINION_STYLE, aspects=aspects))

    assert "**Benefits of the wall**" in answer.text
    assert "teleportation" not in answer.text


@pytest.mark.parametrize(
    ("label", "heading"),
    [
        ("How does the wall work? gates", None),
        ("how does the wall work gates", None),
        ("What closes the gates of the wall", "What closes the gates of the wall?"),
        ("gates of the wall", "Gates of the wall"),
    ],
)
def test_a_paragraph_is_headed_by_its_label_unless_that_repeats_the_question(label, heading):
    documents = [candidate(WALL + " The gates of the wall close at high tide.", labels=[label])]

    answer = extract_answer(
        request("How does the wall work?", documents, style=ANALYTICAL_STYLE, aspects=[label])
    )

    assert re.findall(r"^\*\*(.+)\*\*$", answer.text, re.M) == ([heading] if heading else [])
    assert answer.citations


def test_a_question_about_one_side_is_answered_from_that_side():
    aspects = ["arguments for the marsh", "arguments against the marsh"]
    documents = [candidate(MARSH, labels=aspects)]

    answer = extract_answer(
        request("What are the arguments against the marsh?", documents, style=OPINION_STYLE, aspects=aspects)
    )

    assert answer.text.startswith("**Arguments against the marsh**")
    assert "**Arguments for the marsh**" not in answer.text


def test_a_contextual_answer_speaks_to_the_situation_first():
    guidance = candidate(
        "Tenants can borrow flood barriers without the consent of the owner. Farmers must move their sheep "
        "before the flood. Everybody should pack a bag before the flood."
    )

    answer = extract_answer(
        request(
            "What should I do before the flood?",
            [guidance],
            style=CONTEXTUAL_STYLE,
            user_context="I am a farmer with sheep",
        )
    )

    assert answer.text.startswith("**For your situation**\nFarmers must move their sheep")
    check(answer, [guidance])


def test_a_contextual_answer_quotes_the_passage_that_ranks_first_before_any_other():
    rule = candidate(
        "Tenants need the consent of the owner. A barrier may be hired for a week.", source="rule"
    )
    other = candidate("I am a tenant with a flood barrier and so is my aunt.", source="forum")

    answer = extract_answer(
        request(
            "May I hire a barrier?",
            [rule, other],
            style=CONTEXTUAL_STYLE,
            user_context="I am a tenant with a flood barrier",
        )
    )

    assert [citation["source"] for citation in answer.citations[:2]] == ["rule", "rule"]


def test_what_a_contextual_answer_adds_to_its_lead_stands_in_the_order_of_the_passage():
    guidance = candidate(
        "Subscribe to the warnings. Know the four levels. Tenants must fit a barrier before the flood. "
        "Keep a bag by the door."
    )

    answer = extract_answer(
        request(
            "What about the flood?", [guidance], style=CONTEXTUAL_STYLE, user_context="Tenants with a barrier"
        )
    )

    assert without_markers(answer) == [
        "Tenants must fit a barrier before the flood.",
        "Keep a bag by the door.",
        "Subscribe to the warnings.",
        "Know the four levels.",
    ]


def test_a_rule_for_another_age_is_left_out_of_the_situation_where_one_fits():
    rules = candidate(
        "Children from 8 on may swim alone with a badge. Children under 8 must swim with an adult."
    )
    asked = request("May she swim?", [rules], style=CONTEXTUAL_STYLE, user_context="My daughter is six.")

    answer = extract_answer(asked).text

    assert "under 8" in answer
    assert "from 8 on" not in answer


def test_words_of_the_asker_that_name_the_document_choose_no_rule_in_it():
    terms = candidate(
        "The Tallow Street gym may close.\n\nLeaving\n\nWhoever is moving to another city may leave at once.",
        source="tallow_street_gym.md",
    )
    asked = request(
        "may I?", [terms], style=CONTEXTUAL_STYLE, user_context="I joined Tallow Street gym; moving."
    )

    assert without_markers(extract_answer(asked))[0].startswith("Whoever is moving")


def test_of_two_passages_as_good_that_nearer_to_the_situation_has_the_rule():
    passages = [
        candidate("Staff may leave the mill early on a Friday.", source="handbook.md"),
        candidate("Tenants may leave the unit early by notice.", source="lease.md"),
    ]
    for passage, situation in zip(passages, (0.2, 0.5), strict=True):
        passage["scores"] |= {"relevance": 9.3, "situation": situation}
    asked = request("may I leave early?", passages, style=CONTEXTUAL_STYLE, user_context="I rent a room.")

    assert without_markers(extract_answer(asked)) == ["Tenants may leave the unit early by notice."]


def test_what_others_say_of_themselves_is_no_rule_for_the_asker():
    passages = [
        candidate(
            "Jan Reed: I use a wheelchair in the yard. My ramp is too steep. I leave at nine.",
            source="debate.md",
        ),
        candidate("Everybody leaves the yard at seven. The gate shuts at eight.", source="rules.md"),
    ]
    for passage, relevance in zip(passages, (9.3, 8.9), strict=True):
        passage["scores"] |= {"relevance": relevance, "situation": 0.3}
    asked = partial(
        request, "When should I leave?", style=CONTEXTUAL_STYLE, user_context="I use a wheelchair."
    )

    assert "Everybody leaves" in extract_answer(asked(passages)).text
    assert "I leave at nine" in extract_answer(asked(passages[:1])).text


def test_a_section_whose_heading_names_the_asker_has_the_rule_and_the_question_leads_in_it():
    passages = [
        candidate("The gate is open.\n\n## Everybody\n\nRing the desk about the boat.", source="faq.md"),
        candidate(
            "# Advice\n\n## If you own a boat\n\nKeep the boat in the dry. In a storm cross to the lee.\n\n"
            "## If you farm\n\nIn a storm cut the oats.",
            source="advice.md",
        ),
    ]
    for passage, relevance in zip(passages, (9.3, 8.0), strict=True):
        passage["scores"] |= {"relevance": relevance, "situation": 0.3}
    asked = request(
        "What about a storm?", passages, style=CONTEXTUAL_STYLE, user_context="I own a boat in the dry."
    )

    answer = extract_answer(asked).text

    assert answer.startswith("**For your situation**\nIn a storm cross to the lee.")
    assert "oats" not in answer


def test_a_contextual_answer_keeps_to_the_section_of_its_rule():
    lease = candidate(
        "The stairs are cleaned by the tenants in turn, every third week of the month.\n\n"
        "Animals\n\nDogs are not permitted. A cat needs consent.\n\n"
        "Repairs\n\nThe landlord keeps the roof in repair. The tenants bear the cost of small repairs."
    )

    answer = extract_answer(request("May we have dogs?", [lease], style=CONTEXTUAL_STYLE))

    assert without_markers(answer) == ["Dogs are not permitted.", "A cat needs consent."]


FILTER = (
    "Filter\n\nThe filter keeps dust out of the pump and lasts for about two years in most homes.\n\n"
    "- Switch the pump off and pull the plug out of the socket. The light goes out.\n"
    "- Turn the grey cover to the left until it clicks, and lift it off.\n"
    "- Take the old filter out and put the new one in with its arrow up.\n"
    "- Press the cover down and turn it to the right; the light is green again after ten seconds. "
    "The pump may then be used as before, with no further setting and no wait, for the next two years.\n\n"
    "Storage\n\n- Store the pump upright."
)


@pytest.mark.parametrize("style", [ANALYTICAL_STYLE, CONTEXTUAL_STYLE], ids=["analytical", "contextual"])
def test_a_question_for_steps_is_answered_with_all_of_them_in_order(style):
    answer = extract_answer(request("How do I change the old filter?", [candidate(FILTER)], style=style))

    lines = without_markers(answer)
    steps = [line.split()[0] for line in lines if line.split()[0] in ("Switch", "Turn", "Take", "Press")]
    assert sorted(steps) == ["Press", "Switch", "Take", "Turn"]
    assert "Store" not in answer.text


def test_an_analysis_leads_with_the_cause_and_leaves_out_what_speaks_of_the_text():
    history = candidate(
        "This chapter describes why the mine closed. The mine had many names. "
        "The mine closed because cheap lead came from Spain. However, the village lived on."
    )

    lines = without_markers(
        extract_answer(request("Why did the mine close?", [history], style=ANALYTICAL_STYLE))
    )

    assert lines[0] == "The mine closed because cheap lead came from Spain."
    assert not any("This chapter" in line for line in lines)


def test_an_analysis_names_its_text_where_it_is_asked_about_it():
    history = candidate("This chapter describes why the mine closed. The mine had many names.")

    answer = extract_answer(request("What does this chapter describe?", [history], style=ANALYTICAL_STYLE))

    assert answer.text.startswith("This chapter describes")


def test_a_comparison_quotes_something_on_both():
    prices = candidate(
        "A full ticket costs 39 pounds a month and opens the pool, the gym and all classes. "
        "The desk is open from nine. The gym was built in 1987 by the town. "
        "A pool ticket costs 24 pounds a month."
    )

    answer = extract_answer(
        request(
            "What is the difference between a full ticket and a pool ticket?",
            [prices],
            style=ANALYTICAL_STYLE,
        )
    )

    assert "39 pounds" in answer.text
    assert "24 pounds" in answer.text


def test_a_sentence_of_an_analysis_that_refers_to_nothing_shown_is_left_out():
    long = "The council of the town, " + ", ".join(f"member {n}" for n in range(99)) + ", met in the marsh."
    history = candidate(
        f"The wall protects the marsh from the sea. {long} It also agreed on a price for the marsh."
    )

    lines = without_markers(
        extract_answer(request("How does the wall affect the marsh?", [history], style=ANALYTICAL_STYLE))
    )

    assert lines[0] == "The wall protects the marsh from the sea."
    assert not any(line.startswith("It also") for line in lines)


def test_an_analysis_keeps_to_the_document_that_answers():
    rules = candidate(
        "Sick pay in the first year is full pay for four weeks. "
        "After it sick pay is full pay for twelve weeks.",
        source="handbook",
    )
    report = candidate("The pay of sick staff rose by a tenth in a year.", source="report")
    question = "How does sick pay change after the first year?"

    answer = extract_answer(request(question, [rules, report], style=ANALYTICAL_STYLE))

    assert {citation["source"] for citation in answer.citations} == {"handbook"}


def test_advice_adds_nothing_that_is_far_from_the_situation():
    lease = candidate(
        "A tenant who must move for work may end the contract with one month of notice.", source="lease"
    )
    handbook = candidate("Staff end the contract with one week of notice.", source="handbook")
    asked = request(
        "How do I end the contract with notice?",
        [lease, handbook],
        style=CONTEXTUAL_STYLE,
        user_context="I am a tenant and must move for work",
    )

    assert {citation["source"] for citation in extract_answer(asked).citations} == {"lease"}


def test_the_words_of_a_heading_count_for_what_stands_under_it():
    readme = candidate(
        "# Snap\n\nSnap is one file.\n\n## How it decides\n\nTwo pictures are cut into tiles.\n\n"
        "## Licence\n\nAnybody may copy the tool."
    )

    answer = extract_answer(request("how does it decide", [readme], style=ANALYTICAL_STYLE))

    assert without_markers(answer)[0] == "Two pictures are cut into tiles."


def test_how_something_works_is_told_in_the_prose_of_its_section_not_in_commands():
    intro = candidate(
        "# Snap\n\nSnap tells you when a page has changed.\n\n## Removing a page\n\n"
        "```sh\nsnap rm page\nsnap rm changed --page\n```",
        source="readme",
    )
    section = candidate(
        "## Limits\n\nNo page behind a login.\n\n## How it decides that a page has changed\n\n"
        "Two pictures are cut into tiles and their colours are compared.",
        source="readme",
        start=1000,
    )
    question = "how does snap know that a page has changed"

    answer = extract_answer(request(question, [intro, section], style=ANALYTICAL_STYLE))

    assert without_markers(answer)[0].startswith("Two pictures are cut into tiles")
    assert "snap rm" not in answer.text


def test_a_consequence_leads_where_it_is_asked_what_happens():
    manual = candidate(
        "Clean the filter every two weeks. A dirty filter lets less air through, so that ice forms."
    )
    question = "what happens if i dont clean the filter"

    answer = extract_answer(request(question, [manual], style=ANALYTICAL_STYLE))

    assert answer.text.startswith("A dirty filter")


def test_a_comparison_that_leads_with_a_row_quotes_the_rows_of_its_table():
    manual = candidate(
        "## Technical data\n\nProperty | D300 | D300 Pro\n\nTank | 3.5 litres | 5 litres\n\n"
        "Power | 280 W | 410 W\n\n## Warranty\n\nIt lasts for three years."
    )

    answer = extract_answer(request("compare the D300 and the D300 Pro", [manual], style=ANALYTICAL_STYLE))

    assert "3.5 litres" in answer.text
    assert "410 W" in answer.text
    assert "three years" not in answer.text


def test_a_conclusion_that_names_what_is_asked_comes_with_what_it_is_drawn_from():
    book = candidate(
        "In a wet winter the ground is full to the brim. That is why the cellars were flooded in spring."
    )

    answer = extract_answer(request("Why were the cellars flooded?", [book], style=ANALYTICAL_STYLE))

    assert answer.text.startswith("In a wet winter the ground is full to the brim. [1] That is why")


def test_rows_on_other_years_never_come_before_the_sentence_that_says_why():
    record = candidate(
        "On 8 November 2021 the gauge stood high. All the same 41 homes were flooded, from below.\n\n"
        "Date | Homes flooded | Main cause\n\n9 December 1954 | 640 | Surge over the wall\n\n"
        "16 February 1979 | 212 | Waves over the wall\n\n8 November 2021 | 41 | Groundwater"
    )
    question = "Why did homes flood in November 2021 although nothing came over the wall?"

    answer = extract_answer(request(question, [record], style=ANALYTICAL_STYLE))

    assert answer.text.startswith("On 8 November 2021 the gauge stood high. [1] All the same 41 homes")
    assert "1979" not in answer.text


def test_two_rows_that_are_compared_are_quoted_without_the_others():
    hire = candidate(
        "Boats are for members.\n\nBoat | Day | Deposit\n\nTern | 24 | 100\n\nKite | 31 | 150\n\n"
        "Heron | 48 | 300\n\nNobody may smoke on the Tern."
    )
    answer = extract_answer(
        request("tern or heron, what is the difference in price", [hire], style=ANALYTICAL_STYLE)
    )
    assert "24" in answer.text and "48" in answer.text
    assert "31" not in answer.text


def test_advice_is_headed_only_where_it_speaks_of_the_asker():
    rules = candidate("A visitor may stay for two hours in the yard. The gate shuts at nine in the evening.")
    asked = partial(request, "How long may a visitor stay in the yard?", [rules], style=CONTEXTUAL_STYLE)

    assert extract_answer(asked(user_context="I collect stamps")).text.startswith("A visitor")
    assert extract_answer(asked(user_context="I leave at nine in the evening")).text.startswith("**For your")


def test_a_rule_for_another_stage_is_left_out_in_general_too():
    first = candidate("During probation the notice is one week.", source="handbook")
    second = candidate("After probation the notice is one month.", source="handbook", start=500)
    asked = request(
        "What is the notice?", [first, second], style=CONTEXTUAL_STYLE, user_context="I am on probation"
    )

    answer = extract_answer(asked)

    assert "one week" in answer.text
    assert "one month" not in answer.text


def test_a_fact_that_one_sentence_answers_clearly_is_told_in_that_sentence_alone():
    documents = [candidate(WALL), candidate(MARSH, source="marsh.txt")]

    answer = extract_answer(request("When was the wall built?", documents))

    assert without_markers(answer) == ["The wall was built between 1955 and 1958."]


def test_the_sum_that_is_asked_for_leads_before_what_only_shares_the_words():
    text = "The council proposes to close the High Street to cars. The scheme costs £640,000."
    answer = extract_answer(request("How much would closing the High Street cost?", [candidate(text)]))

    assert without_markers(answer)[0] == "The scheme costs £640,000."


def test_another_document_joins_a_fact_only_where_it_names_more_of_what_is_asked():
    rules = candidate("In Leeds up to £165 a night is paid.", source="rules.txt")
    trip = candidate("The hotel costs £68 a night.", source="trip.txt")

    answer = extract_answer(request("What does a hotel in Leeds cost?", [rules, trip]))

    assert without_markers(answer) == ["In Leeds up to £165 a night is paid."]


def test_a_sentence_that_adds_nothing_of_what_is_asked_is_left_out():
    text = "The teaching pool has 31 degrees. The pool is changed weekly."
    answer = extract_answer(request("How warm is the teaching pool?", [candidate(text)]))

    assert without_markers(answer) == ["The teaching pool has 31 degrees."]


def test_an_analysis_keeps_to_the_words_of_its_style():
    told = [
        f"The marsh wall {verb} the {thing} of the old town in many {thing} every single year."
        for verb, thing in zip(
            ["guards", "slows", "stores", "feeds", "shelters", "cools", "drains", "lifts", "holds", "warms"],
            ["streets", "waves", "carbon", "sheep", "birds", "fields", "cellars", "roads", "boats", "barns"],
            strict=True,
        )
    ]
    document = candidate(" ".join(told))
    asked = request("How does the marsh wall serve the old town?", [document], style=ANALYTICAL_STYLE)

    whole, short = (
        extract_answer(replace(asked, style=replace(ANALYTICAL_STYLE, words=words))) for words in (150, 40)
    )

    assert 1 <= sum(len(said.split()) for said in without_markers(short)) <= 40
    assert len(without_markers(whole)) > len(without_markers(short))


def test_what_a_person_said_is_attributed():
    text = (
        "## Ruth Pascall, farmer\n\nMy family has farmed the marsh since 1871. I am against the marsh plan."
    )
    document = candidate(text)

    answer = extract_answer(
        request(
            "Who is against the marsh plan?", [document], style=OPINION_STYLE, aspects=["against the plan"]
        )
    )

    assert "Ruth Pascall, farmer: “" in answer.text
    assert {c["quote"] for c in answer.citations} <= {
        "My family has farmed the marsh since 1871.",
        "I am against the marsh plan.",
    }


def test_a_marker_in_the_source_cannot_pass_for_one_of_ours():
    documents = [candidate("The harbour has two quays according to Amis [7] and others.")]

    answer = extract_answer(request("How many quays has the harbour?", documents))

    assert re.findall(r"\[(\d+)\]", answer.text) == ["1"]
    assert "[7]" in answer.citations[0]["quote"]


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_documents_without_a_sentence_give_an_empty_answer_not_an_error(style):
    for documents in ([], [candidate("---")], [candidate(" ")]):
        answer = extract_answer(request("What is it?", documents, style=style, aspects=["it"]))
        assert (answer.text, answer.citations) == ("", [])


def test_documents_and_sentences_must_match():
    with pytest.raises(ValueError, match="Got 1 documents and the sentences of 0"):
        AnswerRequest("What?", FACTUAL_STYLE, [candidate("A.")], [], vector("What?"))


def steps_in_document_order(request, ranking):
    """Arrange the best sentences as the numbered steps of a strategy that the package does not have."""
    scores = ranking.score(request.question, request.question_vector)
    chosen = ranking.choose(scores, 3, request.style.nearness * scores.max())
    return [Block(sorted(chosen, key=lambda s: (s.document, s.position)), "Steps", numbered=True)]


def test_a_style_of_ones_own_shows_numbered_steps_in_the_order_of_the_document():
    style = AnswerStyle(arrange=steps_in_document_order, evidence=0.2, nearness=0.3)
    document = candidate(
        "Gulls nest here. Switch the flood pump on. Close both valves of the flood pump tight. "
        "Oil the flood pump before it is stored."
    )

    answer = extract_answer(
        request("How do I store the flood pump with its valves?", [document], style=style)
    )

    assert answer.text == (
        "**Steps**\n"
        "1. Switch the flood pump on. [1]\n"
        "2. Close both valves of the flood pump tight. [1]\n"
        "3. Oil the flood pump before it is stored. [1]"
    )
    assert [citation["quote"] for citation in answer.citations] == [
        line[3:-4] for line in answer.text.splitlines()[1:]
    ]


@pytest.mark.parametrize("style", ["factual", "analytical", "contextual"])
def test_the_best_sentence_is_quoted_where_all_have_lost_what_they_refer_back_to(style):
    asked = request(
        "When was the borehole closed?",
        [candidate("It was closed with concrete in 2019.")],
        style=STYLES[style],
    )
    assert extract_answer(asked).text.endswith("It was closed with concrete in 2019. [1]")


def test_the_best_sentence_is_quoted_where_a_style_finds_none():
    style = AnswerStyle(arrange=lambda request, ranking: [], evidence=0.5, nearness=0.5)
    asked = request("How long is the wall?", [candidate(WALL)], style=style)
    assert "It is 2.3 kilometres long. [1]" in extract_answer(asked).text


def faq(question, answer, source):
    metadata = {"kind": "qa", "question": question, "answer": answer}
    return candidate(f"{question}\n{answer}", source=source, metadata=metadata)


def test_the_answer_to_a_question_for_a_number_holds_it_though_it_names_nothing_counted():
    documents = [
        faq("How many sandbags may I take?", "A household may take 8 and a business 20.", "faq.csv"),
        candidate("There are six sandbag stations in the town, and Mill Street is one.", source="book.txt"),
    ]

    answer = extract_answer(request("how many sandbags can i get", documents))

    assert without_markers(answer) == ["A household may take 8 and a business 20."]


def test_a_later_sentence_of_an_answer_comes_with_what_it_goes_on_from():
    said = "On the first Monday of each month at 11.00. If that Monday is a holiday the test is on Tuesday."
    documents = [faq("When are the sirens tested?", said, "faq.csv")]

    answer = extract_answer(request("when are the sirens tested", documents))

    assert " ".join(without_markers(answer)) == said


@pytest.mark.parametrize(
    ("question", "is_quoted"),
    [
        ("Will the council raise the wall?", True),
        ("What does the council pay for?", False),
        ("Will the council sell the wall and the barges on the canal?", False),
    ],
)
def test_a_bare_no_is_quoted_only_where_its_own_question_is_asked(question, is_quoted):
    said = "No. The plan pays for repairs and for a design; a choice is made in 2027."
    documents = [faq("Will the council raise the wall?", said, "faq.csv")]

    answer = extract_answer(request(question, documents, style=ANALYTICAL_STYLE))

    assert ("No." in without_markers(answer)) == is_quoted
    assert "a choice is made" in answer.text


def test_a_comparison_of_what_a_number_tells_apart_begins_with_both_and_names_no_third():
    book = (
        "Grade one: you can paddle 500 metres and get back into your boat. "
        "Grade two: you can roll on one side and lead a group on flat water. "
        "Grade three: there is a great difference, for you can roll on both sides."
    )
    style = ANALYTICAL_STYLE

    answer = extract_answer(
        request("what is the difference between grade one and grade two", [candidate(book)], style=style)
    )

    first, second = without_markers(answer)
    assert first.startswith("Grade one") and second.startswith("Grade two")


SHEDS = candidate(
    "Felt and glass are the tenant's own risk.\n\n| Structure | Largest size | Consent |\n|---|---|---|\n"
    "| Shed | 2.4 by 1.8 metres | secretary |\n| Pond | 2 square metres | not needed |\n"
)


def test_of_a_table_in_a_rule_the_row_that_is_asked_about_is_the_answer():
    answer = extract_answer(request("do I need consent for a pond", [SHEDS], style=CONTEXTUAL_STYLE))

    assert [citation["quote"] for citation in answer.citations] == ["| Pond | 2 square metres | not needed |"]


CAFES = (
    "## If you run a café\n\nThe gas is turned off at the meter at Level 3. "
    "Empty the grease trap every October, with all that is in it."
)


@pytest.mark.parametrize("style", [ANALYTICAL_STYLE, CONTEXTUAL_STYLE])
def test_advice_for_whom_a_heading_names_begins_where_its_section_does(style):
    answer = extract_answer(request("what should I do if I run a cafe", [candidate(CAFES)], style=style))

    assert without_markers(answer)[0] == "The gas is turned off at the meter at Level 3."

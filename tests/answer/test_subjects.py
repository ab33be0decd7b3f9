"""What is said about another thing than the one that a question names does not answer it."""

from dataclasses import replace

import pytest

from adaptive_rag.answer.compose import answer_locally
from adaptive_rag.answer.evidence import judge_evidence, say_abstention
from adaptive_rag.text.phrases import text_of
from tests.answer.made import ScriptedReader, candidate, request

FREEZERS = "| Data | Tarn 86 | Tarn 40 |\n|--|--|--|\n| Noise | 47 dB | 42 dB |\n"
GENERAL = candidate(
    "In the hall the big Tarn 86 stands beside the small Tarn 40.\n\nFlowers are not allowed in the hall."
)
HOUSES = candidate(
    "House E gets its heat pump in June. Only House C has a lift. The other houses than House D have none. "
    "House B was painted in May. The gates close at nine."
)


def test_a_name_that_no_document_has_is_not_answered_by_its_siblings() -> None:
    page = candidate(f"The Tarn 86 and the Tarn 40 are loud.\n\n{FREEZERS}")
    asked = request("What is the noise of the Tarn 20?", [page], {"47 dB": 0.9})
    evidence, said = answer_locally(asked, abstains=True)
    assert (evidence.outcome, evidence.missing, said) == ("refusal", "Tarn 20", None)
    assert evidence.confidence is not None and evidence.confidence < 0.1
    text = text_of(say_abstention(asked.question, [], missing=evidence.missing))
    assert text.startswith("The documents say nothing about “Tarn 20”.")


def test_a_name_that_another_chunk_has_is_not_said_to_be_missing() -> None:
    asked = request(
        "What is the noise of the Tarn 20?", [GENERAL], {"Tarn 86": 0.9},
        look_up=lambda name: [candidate(f"The {name} is old.")],
    )  # fmt: skip
    evidence = judge_evidence(asked)
    assert evidence.outcome == "refusal" and not evidence.missing


def test_a_general_statement_answers_for_a_thing_that_is_not_named() -> None:
    asked = request("Are flowers allowed near the Tarn 20?", [GENERAL], {"Flowers": 0.9})
    assert judge_evidence(asked).outcome == "answer"


@pytest.mark.parametrize(
    ("question", "scores", "outcome"),
    [
        ("When does House B get a heat pump?", {"House E": 0.9}, "refusal"),
        ("Does House B have a lift?", {"Only House C": 0.9}, "answer"),
        ("Does House B have one?", {"The other houses": 0.9}, "answer"),
        ("When do the gates of House B close?", {"gates": 0.9}, "answer"),
        ("When was House B painted?", {"House B": 0.4, "House E": 0.5}, "answer"),
        ("Which houses besides House B get it?", {"House E": 0.9}, "answer"),
    ],
)
def test_a_sentence_about_a_sibling_counts_only_if_it_may_be_about_the_thing(
    question, scores, outcome
) -> None:
    assert judge_evidence(request(question, [HOUSES], scores)).outcome == outcome


def test_a_sentence_below_the_heading_of_another_thing_does_not_answer() -> None:
    text = "## House E\n\nThe boiler is new.\n\n## House B\n\nThe roof is old."
    starts = {"0": "House E", str(text.index("## House B")): "House B"}
    page = candidate(text, metadata={"section_starts": starts})
    assert (
        judge_evidence(request("Is the boiler of House B new?", [page], {"boiler": 0.9})).outcome == "refusal"
    )
    assert (
        judge_evidence(request("Is the boiler of House E new?", [page], {"boiler": 0.9})).outcome == "answer"
    )


def test_a_second_question_is_not_answered_without_the_subject_of_the_first() -> None:
    page = candidate("Opening at 18:31. The laundry hours begin at seven. The opening hours are on the door.")

    class ReadsByPart(ScriptedReader):
        def read(self, question, passages):
            return ScriptedReader({} if "saunas" in question else self.answers).read(question, passages)

    parts = ["are there laundry saunas", "what are the opening hours"]
    asked = request(" and ".join(parts), [page], parts=parts)
    refused, _ = answer_locally(replace(asked, reader=ReadsByPart({"Opening at": 0.9})), abstains=True)
    assert refused.outcome == "refusal"
    told, _ = answer_locally(replace(asked, reader=ReadsByPart({"on the door": 0.9})), abstains=True)
    assert told.outcome == "answer"

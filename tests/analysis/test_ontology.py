"""Reading an ontology and finding its terms."""

from __future__ import annotations

from pathlib import Path

import pytest

import adaptive_rag.analysis
from adaptive_rag.analysis import analyse, load_ontology
from adaptive_rag.analysis.ontology import parse_ontology
from adaptive_rag.errors import ConfigurationError

AUDIO = Path(adaptive_rag.analysis.__file__).parent / "ontologies" / "audio.yaml"


def test_terms_are_found_in_any_case_number_and_with_hyphens() -> None:
    ontology = parse_ontology("gear: [power amplifier, pre-amp, XLR]\nroom: [echo]")
    assert ontology.find_terms("Do POWER AMPLIFIERS and preamps need xlr?") == {
        "gear": ["power amplifier", "XLR"]
    }
    assert ontology.find_terms("two pre amps, one Pre-Amp") == {"gear": ["pre-amp"]}
    assert ontology.find_terms("Echoes? no: echo.") == {"room": ["echo"]}
    assert ontology.find_terms("the powerful amplifier") == {}


def test_a_synonym_counts_as_its_term_and_the_longest_term_wins() -> None:
    ontology = parse_ontology(
        "gear:\n  terms:\n    - {term: amplifier, synonyms: [amp]}\n    - tube amp\n"
        "  synonyms:\n    mixer: [desk]\n"
    )
    assert ontology.find_terms("two amps") == {"gear": ["amplifier"]}
    assert ontology.find_terms("a tube amp") == {"gear": ["tube amp"]}
    assert ontology.find_terms("the desk") == {"gear": ["mixer"]}
    assert len(ontology) == 3


def test_relevance_grows_with_the_share_of_the_question_that_is_of_the_domain() -> None:
    ontology = parse_ontology("gear: [amplifier, speaker, impedance]")
    none = ontology.relevance("Who wrote Hamlet?")
    some = ontology.relevance("Did the king of Spain own an amplifier in his castle?")
    full = ontology.relevance("What is the impedance of a speaker?")
    assert none == 0.0
    assert 0.0 < some < 0.8
    assert full > 0.8


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("gear: [amp]\nroom: []\n", r"line 2: category 'room' is empty"),
        ("gear: [amp]\nroom:\n", r"line 2: category 'room' is empty"),
        ("gear:\n  - amp\n  - Amps\n", r"line 3: term 'Amps' is a duplicate.*line 2"),
        ("gear: [amp]\nroom: [amp]\n", r"line 2: term 'amp' is a duplicate.*'gear' at line 1"),
        ("gear: [amp]\ngear: [mixer]\n", r"line 2: category 'gear' was already given at line 1"),
        ("gear:\n  terms: [amp]\n  colour: red\n", r"line 3: unknown key 'colour' in category 'gear'"),
        ("gear:\n  - {term: amp, alias: [a]}\n", r"line 2: unknown key 'alias'"),
        ("gear: amp\n", r"line 1: the terms of 'gear' are 'amp'; expected a list"),
        ("- amp\n", r"line 1: expected a mapping"),
        ("", r"the file is empty"),
        ("gear: [amp\nroom: [x]", r"not valid YAML at line 2"),
    ],
)
def test_a_problem_is_reported_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        parse_ontology(text)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_ontology("a: []\nb: [x, x]\nc:\n  word: [y]\n")
    assert str(caught.value).count("line ") >= 3


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml"):
        load_ontology(tmp_path / "nowhere.yaml")


def test_the_audio_ontology_serves_the_analysis() -> None:
    ontology = load_ontology(AUDIO)
    assert ontology.categories == ["amplifiers", "speakers", "effects", "technical specs", "connections"]
    answer = analyse("Why do tube amps hum with XLR cables?", ontology=ontology)
    assert answer["ontology_terms"] == {"amplifiers": ["tube amplifier"], "connections": ["XLR"]}
    assert answer["domain_relevance"] >= 0.8
    assert answer["factors"]["domain"] == answer["domain_relevance"]

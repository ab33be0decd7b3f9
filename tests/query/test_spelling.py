"""Words that no passage holds are read as the index spells them."""

import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.index import Index
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.ingest import SourceText
from adaptive_rag.query.spelling import correct_spelling

TEXTS = {
    "warranty.txt": "The warranty of the pump lasts two years. Receipts must be kept.",
    "leave.txt": "The annual leave is 25 days. Holidays are agreed with the manager.",
    "ferry.txt": "The plan was approved and read out on thursdays, in the style of dadaism.",
    "models.txt": "The P220 is sold by Tolland. A referendum was held. It takes 3 Hrs. Its pump is paced.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("spelling") / "index"
    Index.build([SourceText(name, text, name) for name, text in TEXTS.items()], folder)
    return Index.open(folder)


@pytest.fixture(scope="module")
def memory() -> MemoryIndex:
    return MemoryIndex.from_texts(list(TEXTS.values()))


def test_a_text_without_blanks_is_no_misspelt_word(index: Index) -> None:
    # Each of its splits would be looked up, which takes minutes.
    long = "这是一个很长的问题" * 2000
    assert correct_spelling(f"what is {long}", index).question == f"what is {long}"


READINGS = [
    ("How long is the warenty?", {"warenty": "warranty"}),
    ("Must I keep reciepts?", {"reciepts": "receipts"}),
    # short forms
    ("whos on call", {"whos": "who is"}),
    ("Whats the price w/o tax, pls?", {"Whats": "What is", "w/o": "without", "pls": "please"}),
    ("what if im ill and cant come", {"im": "I am", "cant": "cannot"}),
    ("what about the xmas receipts", {"xmas": "Christmas"}),
    # two words of the chunks written as one; one of them is in no chunk
    ("which leavestyle is it", {"leavestyle": "leave style"}),
    ("which leavehouse is it", {}),
    # a word with an ending
    ("is it readstyled", {}),
    # in capitals it is a name; a chunk holds it; words of their own
    ("Do I need a PPL?", {}),
    ("how many hrs is that", {}),
    ("is the well ill", {}),
    # known, everyday, with a digit, a name unlike enough, or short
    ("How long is the warranty?", {}),
    ("What does the P240 cost?", {}),
    ("Who is Ana?", {}),
    # forms of everyday words; another form of a word that stands there; too many letters off
    ("Who are the dadaists?", {}),
    ("What could retard it?", {}),
]


@pytest.mark.parametrize(("question", "read_as"), READINGS)
def test_a_word_is_read_as_the_index_spells_it(index, memory, question, read_as) -> None:
    for source in (index, memory):
        corrected, found, _ = correct_spelling(question, source)
        assert found == read_as
        assert all(other in corrected and word not in corrected for word, other in read_as.items())


def test_words_of_other_documents_are_not_told(index: Index) -> None:
    narrowed = index.only({"leave.txt"})
    assert correct_spelling("How long is the warenty?", narrowed)[1] == {}
    assert correct_spelling("How much anual leave?", narrowed)[1] == {"anual": "annual"}


def test_what_other_documents_shorten_is_written_in_full(index: Index) -> None:
    narrowed = index.only({"leave.txt"})
    assert correct_spelling("how many hrs is that", narrowed)[:2] == (
        "how many hours is that",
        {"hrs": "hours"},
    )


def test_a_word_that_names_a_file_is_not_read_as_two(tmp_path) -> None:
    text = "Each guest has a key of the house."
    for name, read_as in (("rules.txt", {"guesthouse": "guest house"}), ("our_guesthouse.txt", {})):
        Index.build([SourceText(name, text, name)], tmp_path / name)
        source = Index.open(tmp_path / name)
        assert correct_spelling("which keys has the guesthouse", source)[1] == read_as


@pytest.mark.parametrize(
    ("question", "said", "why"),
    [
        ("How long does the warenty of the pump last?", "two years", "read 'warenty' as 'warranty'"),
        (
            "whats the annual leave",
            "25 days",
            "read 'whats' as 'what is': no passage contains 'whats', which is short for 'what is'",
        ),
        (
            "what is the leavestyle of the pump",
            "",
            "it is 'leave style' written as one word, and that finds better passages",
        ),
    ],
)
def test_a_misspelt_question_is_answered_and_the_trace_tells_why(
    index: Index, question: str, said: str, why: str
) -> None:
    output = AdaptiveRAG(index).invoke(question)
    assert said in output["answer"] and output["question"] == question
    [decision] = [d for d in output["trace"][0]["decisions"] if d["what"] == "spelling"]
    assert why in decision["why"]


def test_spelling_can_be_switched_off(index: Index) -> None:
    output = AdaptiveRAG(index, without={"spelling"}).invoke("How long does the warenty of the pump last?")
    assert not any(d["what"] == "spelling" for d in output["trace"][0]["decisions"])


LOOK_ALIKES = "It was paced and read in detail. Larry had to decide on a rapid creation; defined as complete."


@pytest.mark.parametrize(
    "word", ["payed", "retard", "detain", "lorry", "decode", "rabid", "deified", "summarise"]
)
def test_a_word_that_english_has_is_no_slip(word: str) -> None:
    memory = MemoryIndex.from_texts([LOOK_ALIKES, "The summaries are read."])
    assert correct_spelling(f"what can {word} it", memory) == (f"what can {word} it", {}, {})


def test_a_slip_of_a_word_without_content_needs_no_better_passages() -> None:
    memory = MemoryIndex.from_texts(["The parts which are left are in the shed.", "Bikes are mended here."])
    assert correct_spelling("whch bikes are mended", memory).read_as == {"whch": "which"}


CURRY = [
    "Curry plays basketball for the Golden State team, which he joined in 2009.",
    "The steps of the house are steep. Salt is put on the steps in winter.",
]


def test_a_correction_is_taken_only_if_it_finds_better_passages() -> None:
    memory = MemoryIndex.from_texts(CURRY)
    basketball, winter = "which basketball team does steph curry play for", "are stesp in winter steep"
    assert correct_spelling(basketball, memory) == (basketball, {}, {"steph": "steps"})
    assert correct_spelling(winter, memory).read_as == {"stesp": "steps"}


def test_the_trace_tells_why_a_word_stays_as_typed() -> None:
    output = AdaptiveRAG(MemoryIndex.from_texts(CURRY)).invoke(
        "which basketball team does steph curry play for"
    )
    [decision] = [d for d in output["trace"][0]["decisions"] if d["what"] == "spelling"]
    assert decision["chosen"] == "steph"
    assert decision["why"] == "'steps' is spelt much like it, but finds no clearly better passages"

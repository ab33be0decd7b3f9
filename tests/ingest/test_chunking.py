from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest import split
from adaptive_rag.ingest.chunking import text_to_embed
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.models import onnx
from adaptive_rag.models.embeddings import limit_of
from adaptive_rag.models.onnx import load_minilm, load_tokenizer
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.tokens import TextLimit
from tests.ingest.spans import checked_chunks

SENTENCES = [f"Sentence number {number} tells of the tide and of the wall." for number in range(60)]


def source_of(*paragraphs, name="a.txt"):
    builder = TextBuilder()
    for paragraph in paragraphs:
        builder.add_paragraph(paragraph)
    return builder.build(name, "hash")


@pytest.fixture(scope="module")
def limit():
    """What the model of the package reads at most."""
    return limit_of(load_minilm(), 1000)


@pytest.mark.parametrize(("size", "overlap"), [(1000, 200), (300, 0), (200, 100), (60, 30), (50, 0)])
def test_chunks_keep_the_size_the_spans_and_every_sentence(size, overlap):
    source = source_of(" ".join(SENTENCES[:30]), " ".join(SENTENCES[30:]), "x" * 500)
    chunks, covered = checked_chunks(source, size=size, overlap=overlap), set()
    for chunk in chunks:
        assert len(chunk["text"]) <= size
        covered.update(range(chunk["start"], chunk["end"]))
    assert all(at in covered for at, char in enumerate(source.text) if not char.isspace())
    if not overlap:
        assert all(before["end"] <= after["start"] for before, after in pairwise(chunks))


def test_the_overlap_is_made_of_whole_sentences():
    source = source_of(" ".join(SENTENCES))
    starts = {start for start, _ in sentence_spans(source.text)}
    chunks = list(split(source, size=500, overlap=120))
    shared = [before["end"] - after["start"] for before, after in pairwise(chunks)]
    assert all(0 < length <= 120 for length in shared)
    assert all(chunk["start"] in starts for chunk in chunks)


def test_a_chunk_ends_with_its_paragraph_when_it_is_full_enough():
    first, second = " ".join(SENTENCES[:16]), " ".join(SENTENCES[16:32])
    chunks = list(split(source_of(first, second), size=1000, overlap=0))
    assert [chunk["text"] for chunk in chunks] == [first, second]


def test_a_heading_goes_with_what_it_heads_and_names_the_section(read_file):
    text = f"# One\n\n{' '.join(SENTENCES[:17])}\n\n# Two\n\n{' '.join(SENTENCES[17:30])}\n"
    first, second = split(read_file("a.md", text))
    assert first["section"] == "One" and not first["text"].endswith("# Two")
    # what is repeated from the section before does not give the second chunk its name
    assert "# Two" in second["text"] and second["section"] == "Two"


def test_a_sentence_longer_than_a_chunk_is_cut_between_words():
    source = source_of("word " * 300 + "end.")
    chunks = list(split(source, size=200, overlap=50))
    assert all(chunk["text"].startswith("word") or chunk["text"] == "end." for chunk in chunks)
    assert all(chunk["text"].endswith(("word", "end.")) for chunk in chunks)


def test_ids_are_stable_and_tell_source_place_and_text_apart():
    text = " ".join(SENTENCES)
    ids = [chunk["id"] for chunk in split(source_of(text))]
    assert ids == [chunk["id"] for chunk in split(source_of(text))]
    others = [chunk["id"] for chunk in split(source_of(text, name="b.txt"))]
    assert len({*ids, *others}) == 2 * len(ids)
    assert all(len(chunk_id) == 16 for chunk_id in ids)


@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [(49, 0, "size of 49"), (0, 0, "size of 0"), (1000, -1, "overlap of -1"), (1000, 501, "give 0 to 500")],
)
def test_sizes_that_cannot_work_are_refused_before_anything_is_cut(size, overlap, message):
    with pytest.raises(ConfigurationError, match=message):
        split(source_of("One."), size=size, overlap=overlap)


# Text that takes many more tokens than its characters suggest, and text that takes none.
HEAVY = {
    "Chinese": "青石桥建于一八三四年，全长五十六米，桥面用当地的石头铺成。" * 60,
    "Chinese without marks": "青石桥建于一八三四年全长五十六米" * 90,
    "numbers": "\n".join(f"| {year} | {f'{year / 7:.3f} | ' * 9}" for year in range(90)),
    "rules": "\n\n".join(f"Point {number}.\n{'=' * 300}\nIt holds." for number in range(12)),
    "one word": "".join(map(str, range(2000))),
    "code": "\n".join(f'    "{at:x}": lambda x: x[{at}](*args, **{{"k{at}": -1}}),' for at in range(99)),
    "Russian": "Маяк в деревне Луговое построен в старину, его высота составляет двадцать метров. " * 30,
}


@pytest.mark.parametrize("name", HEAVY)
def test_no_chunk_is_longer_than_the_model_reads_and_nothing_is_left_out(name, limit):
    source = source_of(HEAVY[name])
    chunks = list(split(source, limit=limit))
    tokenizer = load_tokenizer(Path(onnx.__file__).parent / "minilm" / "tokenizer.json", 10**6)
    lengths = [len(tokenizer.encode(text_to_embed(chunk, limit)).ids) for chunk in chunks]
    assert max(lengths) <= load_minilm().max_tokens
    covered = {at for chunk in chunks for at in range(chunk["start"], chunk["end"])}
    assert all(at in covered for at, char in enumerate(source.text) if char.isalnum())
    assert all(one["end"] - two["start"] <= 200 for one, two in pairwise(chunks))


def test_the_size_still_bounds_what_the_model_would_read(limit):
    source = source_of(" ".join(SENTENCES))
    assert list(split(source, size=400)) == list(split(source, size=400, limit=limit))


def test_an_item_and_a_row_of_several_sentences_stay_whole():
    items = [
        f"{n}. Open the cover of valve {n}. Look for rust. It must stay under {n} bar." for n in range(40)
    ]
    rows = [f"| Craft {n} | {'It reports to the office. ' * 12}It pays. | £{n} |" for n in range(9)]
    source = source_of("Before.", "\n".join(items), "\n".join(["| Craft | Duty | Charge |", *rows]))
    lines = {line for chunk in split(source) for line in chunk["text"].split("\n")}
    assert lines == {"", "Before.", "| Craft | Duty | Charge |", *items, *rows}


def test_what_no_chunk_holds_is_cut_after_a_sentence_and_a_note_says_so():
    item, notes, none = "- " + "It must be dry and clean. " * 60, [], []
    chunks = list(split(source_of("Short.", item, "word " * 300), notes=notes))
    assert all(chunk["text"].endswith(("clean.", "word")) for chunk in chunks)
    assert notes == ["2 sentences, table rows or list items are longer than a chunk and were cut"]
    list(split(source_of(" ".join(SENTENCES)), notes=none))
    assert none == []


def test_what_announces_a_list_goes_with_it():
    items = "\n".join(f"- Bring the paper with number {number}, signed and dated." for number in range(9))
    before = " ".join(SENTENCES[:13])
    _, second, *_ = split(source_of(before, "Bring these papers:", items), size=len(before) + 30, overlap=0)
    assert second["text"].startswith("Bring these papers:")


@pytest.mark.parametrize("in_a_record", [False, True])
def test_a_later_chunk_of_a_table_is_embedded_with_its_headings_and_columns(in_a_record, limit):
    builder, part = TextBuilder(), TextBuilder()
    rows = [f"| Hinge {number} | £{number}.20 | {number} days |" for number in range(60)]
    part.add_paragraph("Prices", level=1)
    part.add_paragraph("Marlow", level=2)
    part.add_paragraph("\n".join(["| Item | Price | Lead time |", "|---|---|---|", *rows]))
    if in_a_record:
        builder.add_part(part, "Book", 1, {})
    first, *later = split((builder if in_a_record else part).build("a.md", "hash"), limit=limit)
    assert "columns" not in first["metadata"] and len(later) > 2
    for chunk in later:
        assert chunk["metadata"]["columns"] == ["Item", "Price", "Lead time"]
        above = text_to_embed(chunk, limit).removesuffix(chunk["text"])
        assert above.startswith("Marlow | ") and above.endswith("Item | Price | Lead time\n")


def test_long_headings_leave_room_for_the_text(limit):
    builder = TextBuilder()
    for level, name in enumerate(("Alpha", "Beta", "Gamma", "Delta"), start=1):
        builder.add_paragraph(f"{name} " + "警报" * 50, level=level)
        builder.add_paragraph(" ".join(SENTENCES))
    *_, last = split(builder.build("a.md", "hash"), limit=limit)
    above = text_to_embed(last, limit).removesuffix(last["text"])
    assert 0 < limit.count(above) <= limit.most / 3


def test_a_passage_that_was_judged_stays_one_chunk(limit):
    source = replace(source_of("青石桥全长五十六米。" * 200), whole=True)
    assert len(list(split(source, size=10**6, overlap=0, limit=limit))) == 1


def test_metadata_that_many_chunks_repeat_are_cut():
    builder = TextBuilder()
    answer = "The sea wall is long. " * 2_000
    wide = {f"field {number}": "x" * 90 for number in range(900)}
    builder.add_record(f"How long?\n{answer}", {**wide, "question": "How long?", "answer": answer, "row": 3})
    builder.add_record("short", {"blob": "z" * 1_000_000, "note": "y" * 3_000})
    *chunks, short = split(builder.build("faq.jsonl", "0" * 64))
    assert len(chunks) > 40 and short["metadata"] == {"note": "y" * 3_000}
    for chunk in chunks:
        assert chunk["metadata"]["row"] == 3 and answer.startswith(chunk["metadata"]["answer"])
        assert 15_000 < len(str(chunk["metadata"])) < 30_000 and chunk["metadata"]["question"] == "How long?"


def test_signs_between_two_sentences_are_not_counted_all_at_once():
    counted = []
    limit = TextLimit(100, lambda text: counted.append(len(text)) or len(text) // 4)
    chunks = list(split(source_of("The tide came.", "! " * 50_000, "It went."), limit=limit))
    assert [chunk["text"] for chunk in chunks] == ["The tide came.", "It went."]
    assert max(counted) <= 1000


def test_a_long_text_of_many_tokens_is_counted_a_few_times():
    counted = []
    limit = TextLimit(256, lambda text: counted.append(len(text)) or len(text))
    [*chunks] = split(source_of("{a}" * 10_000), limit=limit)
    assert len(chunks) < 200 and sum(counted) < 12 * 30_000


def test_a_document_of_headings_alone_has_full_chunks(read_file):
    source = read_file("headings.md", "# a\n" * 2000)
    chunks = list(split(source, size=800, overlap=100))
    assert len(chunks) < 2 * len(source.text) / 700
    assert chunks[-1]["end"] == len(source.text.rstrip())
    assert all(after["start"] <= before["end"] + 2 for before, after in pairwise(chunks))

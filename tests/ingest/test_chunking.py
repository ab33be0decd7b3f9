from itertools import pairwise

import pytest

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.text.sentences import sentence_spans

SENTENCES = [f"Sentence number {number} tells of the tide and of the wall." for number in range(60)]


def source_of(*paragraphs, name="a.txt"):
    builder = TextBuilder()
    for paragraph in paragraphs:
        builder.add_paragraph(paragraph)
    return builder.build(name, "hash")


@pytest.mark.parametrize(("size", "overlap"), [(1000, 200), (300, 0), (200, 100), (60, 30), (50, 0)])
def test_chunks_keep_the_size_the_spans_and_every_sentence(size, overlap):
    source = source_of(" ".join(SENTENCES[:30]), " ".join(SENTENCES[30:]), "x" * 500)
    chunks = list(split(source, size=size, overlap=overlap))
    covered = set()
    for chunk in chunks:
        assert source.text[chunk["start"] : chunk["end"]] == chunk["text"]
        assert len(chunk["text"]) <= size
        covered.update(range(chunk["start"], chunk["end"]))
    assert all(at in covered for at, char in enumerate(source.text) if not char.isspace())


def test_the_overlap_is_made_of_whole_sentences():
    source = source_of(" ".join(SENTENCES))
    starts = {start for start, _ in sentence_spans(source.text)}
    chunks = list(split(source, size=500, overlap=120))
    shared = [before["end"] - after["start"] for before, after in pairwise(chunks)]
    assert all(0 < length <= 120 for length in shared)
    assert all(chunk["start"] in starts for chunk in chunks)


def test_without_overlap_no_character_is_repeated():
    chunks = list(split(source_of(" ".join(SENTENCES)), size=500, overlap=0))
    assert all(before["end"] <= after["start"] for before, after in pairwise(chunks))


def test_a_chunk_ends_with_its_paragraph_when_it_is_full_enough():
    first, second = " ".join(SENTENCES[:16]), " ".join(SENTENCES[16:32])
    chunks = list(split(source_of(first, second), size=1000, overlap=0))
    assert [chunk["text"] for chunk in chunks] == [first, second]


def test_a_heading_goes_with_what_it_heads_and_names_the_section(tmp_path):
    path = tmp_path / "a.md"
    path.write_text(f"# One\n\n{' '.join(SENTENCES[:17])}\n\n# Two\n\n{' '.join(SENTENCES[17:30])}\n")
    first, second = split(extract_text(path))
    assert first["section"] == "One"
    assert not first["text"].endswith("# Two")
    # what is repeated from the section before does not give the second chunk its name
    assert "# Two" in second["text"]
    assert second["section"] == "Two"


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

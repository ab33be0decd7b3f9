import time
import tracemalloc

import pytest

from adaptive_rag.ingest import extract_text, split
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.text import decode

WORDS = "Naïve café: “déjà vu”."


PLAIN = WORDS + " It was plain English after that, line upon line." * 3
RUSSIAN = "Смотритель маяка каждый час записывал высоту воды, а утром относил книгу в контору."
GREEK = "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (PLAIN, "utf-8"),
        (PLAIN, "utf-8-sig"),
        (PLAIN, "utf-16"),
        (PLAIN, "utf-16-le"),
        (PLAIN, "utf-16-be"),
        (PLAIN, "utf-32"),
        (PLAIN, "cp1252"),
        ("caf\xe9 \x81", "latin-1"),  # bytes that Windows does not know
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "utf-16-le"),
        (GREEK, "cp1253"),
    ],
)
def test_odd_encodings_are_recognised_and_recorded(read_file, text, encoding):
    source = read_file("a.txt", text.encode(encoding))
    assert source.text == text
    assert source.metadata.get("encoding", "utf-8") == encoding
    assert bool(source.notes) is not encoding.startswith("utf")


@pytest.mark.parametrize(
    "text",
    [
        "Water freezes at 0 °C and boils at 100 °C.",
        "Each flood board costs £5.",
        "C’était l’été — où êtes-vous allé?",
        "Größe: 5 €",
        "café",
    ],
)
def test_a_western_text_is_never_taken_for_another(read_file, text):
    source = read_file("a.txt", text.encode("cp1252"))
    assert source.text == text
    assert source.notes == ("not UTF-8; read as cp1252. Save it as UTF-8 if letters look wrong",)


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_separate_accents_join_their_letters(read_file, name):
    assert "F\xe4hre" in read_file(name, "<p>Die Fa\u0308hre</p>".encode()).text


def test_many_accents_of_one_letter_are_read_in_linear_time():
    started = time.process_time()
    assert decode(("a" + "\u0301\u0323" * 20_000).encode(), TextBuilder())
    assert time.process_time() - started < 1


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_damaged_place_costs_its_letter_and_not_those_of_the_whole_text(read_file, mark):
    text = "Größe und Maß, schön über Öl. " * 4
    source = read_file("a.txt", mark + text.encode() + b"\xc3(" + text.encode()[:-1] + b"\xc3")
    assert source.text == f"{text}�({text[:-1]}�"
    assert source.notes == ("not UTF-8 in 2 places, which are read as �. Save it as UTF-8",)


def test_an_encoding_is_recognised_in_little_memory():
    data = (RUSSIAN * 5_000).encode("cp1251")
    tracemalloc.start()
    decode(data, TextBuilder())
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * len(data)


@pytest.mark.parametrize("name", ["a.txt", "a.md"])
def test_spans_are_spans_of_the_file_itself(tmp_path, name):
    path = tmp_path / name
    path.write_bytes("# Tides\r\n\r\nThey  rise ﬁrst.\tThen\u00a0fall.\r\n\r\n".encode() * 60)
    content = path.read_text(encoding="utf-8")
    for chunk in split(extract_text(path)):
        assert content[chunk["start"] : chunk["end"]] == chunk["text"]


def test_markdown_headings_lead_to_sections_and_code_holds_none(read_file):
    source = read_file(
        "a.md",
        "---\ntitle: x\n---\n# Handbook\n\n## 4 Storms ##  \n\n### *Warning levels\nOne.\n\n"
        "```sh\n# a comment\n```\n\nHeat\n----\nTwo.\n\n## C#\n\nThree.\n\n## #\n\nFour.\n",
    )
    levels = "4 Storms > Warning levels"
    headings = ["Handbook", "4 Storms", levels, "Heat", "C#", "#"]
    assert [heading.section for heading in source.headings] == headings
    assert source.section_at(source.text.index("One.")) == levels
    assert source.section_at(source.text.index("Two.")) == "Heat"

"""Each citation's span is its quote in the file's text, and its place is where a person finds it there."""

import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from adaptive_rag import AdaptiveRAG
from adaptive_rag.ingest import extract_text, to_document
from adaptive_rag.text.places import format_place
from tests.ingest.made_pdf import Text, make_pdf

# The last of three is asked for; what stands before it lies in another section, page, row or paragraph.
FACTS = [
    "The market of Saltmere is held on Mondays, when the boats are in.",
    "The bell of the chapel weighs two tons and is rung by hand.",
    "The ferry to Orrin Island leaves at half past seven.",
]
QUESTION, ANSWER = "When does the ferry to Orrin Island leave?", "half past seven"
HEADS = ["Market", "Bells", "Ferries"]
SECTIONS = list(zip(HEADS, FACTS, strict=True))
ROWS = [
    ["Item", "Weight", "Leaves at"],
    ["Bell", "two tons", ""],
    ["Ferry to Orrin Island", "", "half past seven"],
]
OFFICE = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{of}:1.0"'
    for name, of in {"office": "office", "text": "text", "table": "table", "draw": "drawing"}.items()
)


def write_pdf(path: Path) -> None:
    make_pdf(path, [[Text(fact)] for fact in FACTS])


def write_docx(path: Path) -> None:
    document = docx.Document()
    for head, fact in SECTIONS:
        document.add_heading(head, 1)
        document.add_paragraph(fact)
    document.save(str(path))


def write_pptx(path: Path) -> None:
    deck = pptx.Presentation()
    for head, fact in SECTIONS:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = head  # type: ignore[union-attr]
        slide.placeholders[1].text = fact  # type: ignore[attr-defined]
    deck.save(str(path))


def write_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "Times"
    for row, cells in enumerate(ROWS, start=3):
        for column, cell in enumerate(cells, start=2):
            book.active.cell(row, column, cell)
    book.save(path)


def write_opendocument(kind: str, body: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        content = (
            f"<office:document-content {OFFICE}><office:body><office:{kind}>{body}</office:{kind}>"
            "</office:body></office:document-content>"
        )
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
            archive.writestr("content.xml", content)

    return write


ODT = "".join(f'<text:h text:outline-level="1">{h}</text:h><text:p>{fact}</text:p>' for h, fact in SECTIONS)
ODP = "".join(
    f"<draw:page><draw:frame><draw:text-box><text:p>{fact}</text:p></draw:text-box></draw:frame></draw:page>"
    for fact in FACTS
)
ODS = (
    '<table:table table:name="Times">'
    + "".join(
        "<table:table-row>"
        + "".join(
            f"<table:table-cell>{f'<text:p>{cell}</text:p>' if cell else ''}</table:table-cell>"
            for cell in cells
        )
        + "</table:table-row>"
        for cells in ROWS
    )
    + "</table:table>"
)
HTML = "".join(f"<h1>{head}</h1><p>{fact}</p>" for head, fact in SECTIONS)
RTF = (
    r"{\rtf1\ansi{\stylesheet{\s1\outlinelevel0 Chapter;}}"
    + "".join(rf"\pard\s1 {head}\par\pard {fact}\par " for head, fact in SECTIONS)
    + "}"
)
MHTML = (
    'MIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n--b\n'
    f"Content-Type: text/html\n\n<html><body>{HTML}</body></html>\n--b--\n"
)
MARKDOWN = "\n".join(f"# {head}\n\n{fact}\n" for head, fact in SECTIONS)
RST = "\n".join(f"{head}\n{'=' * len(head)}\n\n{fact}\n" for head, fact in SECTIONS)
CODE = "\n\n".join(f'def {head.lower()}():\n    """Tell.\n\n    {fact}\n    """' for head, fact in SECTIONS)
CSV = "\n".join(",".join(cells) for cells in ROWS)
RECORDS = [{"Item": item, "Weight": weight, "Leaves at": leaves} for item, weight, leaves in ROWS[1:]]
TIMES = ["00:00:01,000 --> 00:00:03,000", "00:01:10,000 --> 00:01:12,000", "01:02:05,000 --> 01:02:09,000"]
SRT = "\n".join(f"{n}\n{time}\n{fact}\n" for n, (time, fact) in enumerate(zip(TIMES, FACTS, strict=True), 1))
VTT = "WEBVTT\n\n" + SRT.replace(",000", ".000")
NOTEBOOK = json.dumps({"cells": [{"cell_type": "markdown", "source": fact} for fact in FACTS], "nbformat": 4})


def write_epub(path: Path) -> None:
    names = [f"{number}.xhtml" for number in range(3)]
    items = "".join(f'<item id="i{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="i{name}"/>' for name in names)
    package = f"<package><metadata/><manifest>{items}</manifest><spine>{spine}</spine></package>"
    root = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", root)
        archive.writestr("book.opf", package)
        for name, (head, fact) in zip(names, SECTIONS, strict=True):
            archive.writestr(name, f"<html><body><h1>{head}</h1><p>{fact}</p></body></html>")


def make_mail() -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"] = "Ana Ruiz <ana@saltmere.example>", "Bo Lind <bo@saltmere.example>"
    mail["Subject"] = "The summer plan"
    mail.set_content(FACTS[0])
    return mail


def write_eml(path: Path) -> None:
    plan = path.with_suffix(".plan")
    write_pdf(plan)
    mail = make_mail()
    mail.add_attachment(plan.read_bytes(), maintype="application", subtype="pdf", filename="plan.pdf")
    plan.unlink()
    path.write_bytes(mail.as_bytes())


def write_mbox(path: Path) -> None:
    second = make_mail()
    second.replace_header("Subject", "Ferries")
    second.set_content(FACTS[2])
    begin = b"From ana@saltmere.example Tue Mar 12 10:42:00 2024\n"
    path.write_bytes(b"\n".join(begin + mail.as_bytes() for mail in (make_mail(), second)))


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("2024/letter.txt", "\n".join(FACTS))


def write(text: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(text, encoding="utf-8") and None


FORMATS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a.pdf": (write_pdf, "page 3"),
    "a.docx": (write_docx, "Ferries"),
    "a.odt": (write_opendocument("text", ODT), "Ferries"),
    "a.rtf": (write(RTF), "Ferries"),
    "a.pptx": (write_pptx, "slide 3"),
    "a.odp": (write_opendocument("presentation", ODP), "slide 3"),
    "a.xlsx": (write_xlsx, "sheet Times, cells B5 and D5"),
    "a.ods": (write_opendocument("spreadsheet", ODS), "sheet Times, cells A3 and C3"),
    "a.epub": (write_epub, "Ferries"),
    "a.html": (write(f"<html><body>{HTML}</body></html>"), "Ferries"),
    "a.mhtml": (write(MHTML), "Ferries"),
    "a.md": (write(MARKDOWN), "Ferries, line 11"),
    "a.txt": (write("\n\n".join(FACTS)), "line 5"),
    "a.csv": (write(CSV), "row 2"),
    "a.tsv": (write(CSV.replace(",", "\t")), "row 2"),
    "a.jsonl": (write("\n".join(map(json.dumps, RECORDS))), "row 2"),
    "a.json": (write(json.dumps(RECORDS)), "row 2"),
    "a.eml": (write_eml, "The summer plan, attachment plan.pdf, page 3"),
    "a.mbox": (write_mbox, "Ferries"),
    "a.ipynb": (write(NOTEBOOK), "cell 3"),
    "a.rst": (write(RST), "Ferries, line 14"),
    "a.py": (write(CODE), "ferries, line 16"),
    "a.srt": (write(SRT), "1:02:05"),
    "a.vtt": (write(VTT), "1:02:05"),
    "a.zip/2024/letter.txt": (write_zip, "line 3"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a document of each format."""
    made = tmp_path_factory.mktemp("formats")
    for name, (write_file, _) in FORMATS.items():
        write_file(made / name.partition("/")[0])
    return made


@pytest.fixture(scope="module")
def rag(folder: Path) -> AdaptiveRAG:
    return AdaptiveRAG(str(folder))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", FORMATS)
def test_an_answer_cites_the_words_of_the_file_and_where_they_stand(
    rag: AdaptiveRAG, folder: Path, name: str
) -> None:
    output = rag.invoke(QUESTION, context={"where": f'source like "*{name}"'})
    text = extract_text(folder / name).text
    assert output["citations"]
    for citation in output["citations"]:
        assert citation["source"].endswith(name)
        assert text[citation["start"] : citation["end"]] == citation["quote"]
    [place] = {format_place(c["place"]) for c in output["citations"] if ANSWER in c["quote"]}
    assert place == FORMATS[name][1]
    [document] = [to_document(each) for each in output["documents"] if ANSWER in each["text"]]
    assert document.metadata["place"]
    assert not {"cells", "section_starts"} & document.metadata.keys()

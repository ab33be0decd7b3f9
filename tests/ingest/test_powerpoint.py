import pptx
import pytest
from lxml import etree
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import PROG_ID

from adaptive_rag.ingest import extract_text, split
from tests.ingest.made_office import DGM, MC, A, C, M, R, add_parts, diagram, make_book
from tests.ingest.spans import checked_chunks

TITLE, BODY, TITLE_ALONE, EMPTY = 0, 1, 5, 6  # layouts of the library's own template


@pytest.fixture
def deck():
    return pptx.Presentation()


@pytest.fixture
def add(deck):
    """Add a slide of a layout, with a title where it has a place for one."""

    def add_slide(layout, title=""):
        slide = deck.slides.add_slide(deck.slide_layouts[layout])
        if title:
            slide.shapes.title.text = title
        return slide

    return add_slide


@pytest.fixture
def read(tmp_path, deck):
    """Save the presentation, with further parts of its first slide and of itself, and read it."""

    def save_and_read(slide=None, presentation=None):
        path = tmp_path / "a.pptx"
        deck.save(path)
        if slide:
            add_parts(path, "ppt/slides/_rels/slide1.xml.rels", slide)
        if presentation:
            add_parts(path, "ppt/_rels/presentation.xml.rels", presentation)
        return extract_text(path)

    return save_and_read


def write_box(slide, *lines):
    box = slide.shapes.add_textbox(0, 0, 100, 100)
    box.text_frame.text = "\n".join(lines)
    return box


def test_a_slide_is_a_page_and_its_title_a_heading(add, read):
    add(TITLE, "The move").placeholders[1].text = "A plan " + "of many words " * 20
    write_box(add(EMPTY), "No title here. " + "More of it. " * 20)
    source = read()
    chunks = checked_chunks(source, size=400, overlap=0)
    assert [(chunk["page"], chunk["section"]) for chunk in chunks] == [(1, "The move"), (2, "Slide 2")]


def mark(paragraph, kind):
    """Set a mark before a paragraph, or its number."""
    paragraph._p.get_or_add_pPr().append(etree.fromstring(f"<a:{kind.replace(' ', f' {A} ', 1)}/>"))


def test_lists_keep_their_levels_and_boxes_are_paragraphs(add, read):
    slide = add(BODY, "Steps")
    frame = slide.placeholders[1].text_frame
    frame.text = "Pack the books"
    for text, level in (("Label each box", 1), ("Hire a van", 0), ("Then rest.", 0)):
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
    mark(paragraph, "buNone ")
    write_box(slide, "One line", "and one more.")
    assert read().text == (
        "Steps\n\n- Pack the books\n  - Label each box\n- Hire a van\n\nThen rest.\n\n"
        "One line\n\nand one more."
    )


def test_items_are_numbered_as_the_slide_shows_them(add, read):
    fourth, letters = 'type="arabicPeriod" startAt="4"', 'type="alphaLcParenR"'
    kinds = (fourth, fourth, "", letters, letters, 'type="romanUcParenBoth"', 'type="arabicPeriod"')
    box = write_box(add(EMPTY), "Close", "Drain", "Rest.", "Red", "Blue", "One", "Mon")
    for paragraph, kind in zip(box.text_frame.paragraphs, kinds, strict=True):
        if kind:
            mark(paragraph, f"buAutoNum {kind}")
    assert read().text == "4. Close\n5. Drain\n\nRest.\n\na) Red\nb) Blue\n(I) One\n1. Mon"


def test_raised_digits_are_kept_apart_and_white_letters_read(add, read):
    paragraph = write_box(add(EMPTY), "10").text_frame.paragraphs[0]
    for text, baseline in (("6", "30000"), (" H", "0"), ("2", "-25000")):
        run = paragraph.add_run()
        run.text = text
        run.font.color.rgb = RGBColor(255, 255, 255)
        run._r.get_or_add_rPr().set("baseline", baseline)
    assert read().text.endswith("10⁶ H2")


def test_a_title_comes_first_and_what_is_on_every_slide_is_read_once(deck, add, read):
    for slide in (add(BODY, "Steps"), add(BODY, "Costs")):
        slide.placeholders[1].text = "Pack."
        slide.shapes._spTree.append(slide.shapes.title._element)
        footer = next(shape for shape in deck.slide_layouts[BODY].placeholders if "Footer" in shape.name)
        slide.shapes._spTree.append(etree.fromstring(etree.tostring(footer._element)))
        slide.shapes[-1].text_frame.text = "Saltmere Library"
    write_box(slide, "In a group.")
    slide.shapes.add_group_shape([slide.shapes[-1]])
    deck.slide_master.shapes._spTree.append(write_box(slide, "Founded in 1895")._element)
    once = "Saltmere Library\n\nFounded in 1895"
    assert read().text == f"Steps\n\nPack.\n\n{once}\n\nCosts\n\nPack.\n\nIn a group."


def test_notes_follow_their_slide_and_hidden_slides_are_left_out_and_named(add, read):
    costs = add(TITLE_ALONE, "Costs")
    costs.notes_slide.notes_text_frame.text = "The van costs 240 pounds.\nMr Quill drives it."
    add(TITLE_ALONE, "Secret")._element.set("show", "0")
    add(TITLE_ALONE, "End").notes_slide.notes_text_frame.text = ""
    source = read()
    assert source.text == "Costs\n\nNotes\n\nThe van costs 240 pounds.\n\nMr Quill drives it.\n\nEnd"
    assert source.section_at(source.text.index("The van")) == "Costs > Notes"
    assert source.notes == ("hidden slides were left out: 2",)
    assert [page.number for page in source.pages] == [1, 3]


def test_tables_and_charts_become_rows_below_the_names_of_their_columns(add, read):
    slide = add(TITLE_ALONE, "Costs")
    table = slide.shapes.add_table(3, 3, 0, 0, 100, 100).table
    cells = ["Item", "2024", "2025", "Van", "200", "240", "Boxes", "30"]
    for cell, text in zip(table.iter_cells(), cells, strict=False):
        cell.text = text
    table.cell(2, 1).merge(table.cell(2, 2))
    data = CategoryChartData()
    data.categories = ["Spring", "Autumn"]
    data.add_series("Visitors", (310, 420))
    data.add_series("Loans", (900, None))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 100, 100, data).chart
    chart.chart_title.text_frame.text = "Use in 2025"
    assert read().text == (
        "Costs\n\nItem | 2024 | 2025\nVan | 200 | 240\nBoxes | 30 | 30\n\nUse in 2025\n\n"
        "– | Visitors | Loans\nSpring | 310 | 900\nAutumn | 420 | –"
    )


def test_an_equation_is_read_once_as_linear_text(read, add):
    run = "<m:r><m:t>{}</m:t></m:r>".format
    power = f"<m:sSup><m:e>{run('r')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    a14 = 'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
    equation = etree.fromstring(
        f'<mc:AlternateContent {MC} {M} {A}><mc:Choice Requires="a14" {a14}><a14:m><m:oMath>{run("π")}{power}'
        "</m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    write_box(add(EMPTY), "Area").text_frame.paragraphs[0]._p.append(equation)
    assert read().text.endswith("Area πr^2")


P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'


def test_an_embedded_sheet_is_read_below_the_slides_and_comments_and_macros_are_named(tmp_path, add, read):
    (tmp_path / "stock.xlsx").write_bytes(make_book("Item | Price\nHinge | 3"))
    shapes = add(TITLE_ALONE, "Stock").shapes
    shapes.add_ole_object(str(tmp_path / "stock.xlsx"), PROG_ID.XLSX, 0, 0, 100, 100)
    add(TITLE_ALONE, "The end")
    noted = f"<p:cmLst {P}><p:cm/></p:cmLst>".encode()
    source = read({"notes.xml": ("comments", noted)}, {"vbaProject.bin": ("vbaProject", b"x")})
    assert source.text == "Stock\n\nThe end\n\nItem: Hinge\nPrice: 3"
    assert list(split(source))[-1]["page"] is None
    assert source.notes == ("macros were left out", "1 comment was left out")


def test_a_diagram_is_read_and_a_chart_without_its_part_does_no_harm(add, read):
    slide = add(TITLE_ALONE, "Plan")
    for held in ('dgm:relIds r:dm="data.xml"', 'c:chart r:id="none.xml"', "c:chart", "p:oleObj"):
        frame = f"<p:graphicFrame {P} {DGM} {C} {R}><{held}/></p:graphicFrame>"
        slide.shapes._spTree.append(etree.fromstring(frame))
    source = read({"data.xml": ("diagramData", diagram("Ask", "Sign")), "none.xml": ("chart", None)})
    assert source.text == "Plan\n\n- Ask\n- Sign"
    assert source.notes == ("2 charts were left out",)

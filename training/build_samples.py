"""Builds the sample handbook, a PDF, from `training/samples/climate_handbook.md`.

Run `python training/build_samples.py [OUTPUT.pdf]`. The same source gives the same text on the same pages.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymupdf
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "training" / "samples" / "climate_handbook.md"
TARGET = ROOT / "adaptive_rag" / "samples" / "documents" / "climate_handbook.pdf"

TITLE = "Pellhythe Climate Handbook"
PAGE = pymupdf.Rect(0, 0, 482, 680)  # 17 x 24 cm, in points
BODY = pymupdf.Rect(60, 64, 422, 630)
FRONT_PAGES = 3  # the cover and two pages of contents
MAX_PAGES = 60

SEA = (0.04, 0.31, 0.42)
TIDE = (0.30, 0.58, 0.67)
SAND = (0.93, 0.87, 0.76)
RUST = (0.74, 0.32, 0.18)
GREY = (0.45, 0.48, 0.50)

CSS = """
body { font-family: serif; font-size: 9.9pt; line-height: 1.33; color: #1b1f23; margin: 0; }
p { text-align: justify; hyphens: auto; margin: 0 0 7pt 0; }
h1 { font-family: sans-serif; font-size: 21pt; color: #0a4f6b;
     margin: 0 0 16pt 0; padding-bottom: 6pt; border-bottom: 1.4pt solid #bd522e; line-height: 1.15; }
h2 { font-family: sans-serif; font-size: 11.5pt; color: #0a4f6b; margin: 13pt 0 5pt 0;
     page-break-after: avoid; line-height: 1.2; }
table { margin: 8pt 0 10pt 0; }
th { font-family: sans-serif; font-size: 8.5pt; text-align: left; background-color: #0a4f6b; color: #ffffff;
     padding: 3pt 5pt 3pt 5pt; }
td { font-size: 9pt; text-align: left; background-color: #f3f0e8; padding: 2.5pt 5pt 2.5pt 5pt; }
li { margin: 0 0 4pt 0; }
.caption { font-family: sans-serif; font-size: 8.5pt; color: #5a6268; text-align: left; hyphens: none;
           margin: 3pt 0 11pt 0; }
.figure { margin: 9pt 0 0 0; page-break-after: avoid; }
"""

# Chart data: label, value. The figures are those of the text.
FLOODS = [("1911", 4.21), ("1954", 4.62), ("1979", 4.48), ("1996", 3.71), ("2015", 4.83), ("2021", 4.57)]
FLOODS += [("2024", 4.39)]
SEA_LEVEL = [(1931, 0), (1940, 16), (1950, 29), (1960, 47), (1970, 61), (1980, 79), (1992, 98)]
SEA_LEVEL += [(2000, 127), (2008, 162), (2016, 192), (2024, 222)]
HOT_DAYS = [("1961-1990", 0.4), ("1991-2004", 1.5), ("2005-2014", 2.6), ("2015-2024", 4.7)]
BUDGET = [("Drains and pumps", 6.8), ("Long Wall", 5.1), ("Cotter Marsh", 4.2), ("Grants", 3.3)]
BUDGET += [("Energy, buildings", 3.3), ("Water", 2.4), ("Heat, health", 1.6), ("Warnings", 0.9)]


@dataclass
class Heading:
    """A heading in the layout: its level, its text and its page, counted from 1."""

    level: int
    text: str
    page: int


def to_html(markdown: str) -> str:
    """Convert the source to HTML, with an empty picture in place of each chart."""
    html = MarkdownIt("commonmark").enable("table").render(markdown)
    return re.sub(
        r'<p><img src="chart:([\w-]+)" alt="([^"]*)" /></p>',
        r'<div class="figure"><img id="\1" src="blank.png" width="362" height="150"/></div>'
        r'<p class="caption">\2</p>',
        html,
    )


def lay_out(html: str) -> tuple[pymupdf.Document, list[Heading]]:
    """Lay out the pages of the body, and return them with their headings."""
    blank = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 2, 2))
    blank.clear_with(255)
    archive = pymupdf.Archive()
    archive.add(blank.tobytes("png"), "blank.png")
    buffer = io.BytesIO()
    headings: list[Heading] = []
    writer = pymupdf.DocumentWriter(buffer)
    page = FRONT_PAGES

    def note(position: Any) -> None:
        if position.heading and position.open_close & 1 and position.text:
            headings.append(Heading(position.heading, position.text, page))

    # A story for each chapter: with page-break-before, Story may produce empty pages without end.
    for chapter in re.split(r"(?=<h1>)", html)[1:]:
        # The language turns hyphenation on.
        chapter_html = f'<html lang="en"><body>{chapter}</body></html>'
        story, more = pymupdf.Story(chapter_html, CSS, archive=archive), 1
        while more:
            page += 1
            if page > MAX_PAGES:
                raise SystemExit(f"the layout does not end: more than {MAX_PAGES} pages")
            device = writer.begin_page(PAGE)
            more, _ = story.place(BODY)
            story.element_positions(note)
            story.draw(device)
            writer.end_page()
    writer.close()
    return pymupdf.open("pdf", buffer.getvalue()), headings


class Chart:
    """A drawing surface for one chart, whose text is converted to outlines.

    As text, the labels of the axes would be part of the page's text, in the middle of a sentence.
    """

    def __init__(self, width: float, height: float) -> None:
        self.document = pymupdf.open()
        self.page = self.document.new_page(width=width, height=height)
        self.page.draw_rect(self.page.rect, color=None, fill=(0.975, 0.97, 0.95))
        self.plot = pymupdf.Rect(36, 14, width - 14, height - 22)

    def text(
        self, x: float, y: float, text: str, align: float = 0.0, color: tuple[float, ...] = GREY
    ) -> None:
        """Write a text on a baseline; at x, it starts (`align` 0), has its centre (0.5) or ends (1)."""
        width = pymupdf.get_text_length(text, "helv", 7.5)
        self.page.insert_text((x - align * width, y), text, fontname="helv", fontsize=7.5, color=color)

    def axis(self, top: float, step: float, low: float = 0.0) -> None:
        """Draw horizontal grid lines from `low` to `top`."""
        for index in range(round((top - low) / step) + 1):
            value = low + index * step
            y = self.y(value, top, low)
            self.page.draw_line((self.plot.x0, y), (self.plot.x1, y), color=(0.82, 0.82, 0.8), width=0.5)
            self.text(self.plot.x0 - 5, y + 2.6, f"{value:g}", align=1)

    def y(self, value: float, top: float, low: float = 0.0) -> float:
        """Return the y coordinate of a value."""
        return float(self.plot.y1 - (value - low) / (top - low) * self.plot.height)

    def columns(self, data: list[tuple[str, float]], top: float, low: float = 0.0) -> None:
        """Draw a column with its value for each item."""
        slot = self.plot.width / len(data)
        for index, (label, value) in enumerate(data):
            middle, y = self.plot.x0 + (index + 0.5) * slot, self.y(value, top, low)
            bar = pymupdf.Rect(middle - slot * 0.29, y, middle + slot * 0.29, self.plot.y1)
            self.page.draw_rect(bar, color=None, fill=SEA if value == max(v for _, v in data) else TIDE)
            self.text(middle, y - 3, f"{value:g}", align=0.5, color=SEA)
            self.text(middle, self.plot.y1 + 11, label, align=0.5)

    def place(self, page: pymupdf.Page, box: pymupdf.Rect) -> None:
        """Put the chart on a page, with its text as outlines."""
        svg = pymupdf.open("svg", self.page.get_svg_image(text_as_path=True).encode())
        page.show_pdf_page(box, pymupdf.open("pdf", svg.convert_to_pdf()), 0)


def draw_chart(name: str, page: pymupdf.Page, box: pymupdf.Rect) -> None:
    """Draw the chart with a name into a box of a page."""
    chart = Chart(box.width, box.height)
    if name == "floods":
        chart.axis(5.5, 0.5, low=3.0)
        chart.columns(FLOODS, 5.5, low=3.0)
        crest = chart.y(5.10, 5.5, 3.0)
        chart.page.draw_line((chart.plot.x0, crest), (chart.plot.x1, crest), color=RUST, width=1.1)
        chart.text(chart.plot.x1, crest - 3, "crest 5.10", align=1, color=RUST)
    elif name == "sea-level":
        chart.axis(250, 50)
        points = []
        for year, level in SEA_LEVEL:
            x = chart.plot.x0 + 8 + (year - 1931) / 93 * (chart.plot.width - 20)
            points.append(pymupdf.Point(x, chart.y(level, 250)))
            if year in (1931, 1950, 1970, 1992, 2008, 2024):
                chart.text(x, chart.plot.y1 + 11, str(year), align=0.5)
        chart.page.draw_polyline(points, color=SEA, width=1.6)
        for point in points:
            chart.page.draw_circle(point, 2.2, color=SEA, fill=(1, 1, 1), width=1.1)
        chart.text(points[4].x, points[4].y - 9, "1.6 mm a year", align=1, color=RUST)
        chart.text(points[8].x - 8, points[8].y - 4, "3.9 mm a year", align=1, color=RUST)
    elif name == "hot-days":
        chart.axis(6, 1)
        chart.columns(HOT_DAYS, 6)
    elif name == "budget":
        chart.plot.x0, chart.plot.y0, chart.plot.y1 = 92, 8, box.height - 8
        slot = chart.plot.height / len(BUDGET)
        for index, (label, value) in enumerate(BUDGET):
            y = chart.plot.y0 + index * slot
            end = chart.plot.x0 + value / 7.5 * chart.plot.width
            chart.page.draw_rect(
                pymupdf.Rect(chart.plot.x0, y + 3, end, y + slot - 3), color=None, fill=TIDE if index else SEA
            )
            chart.text(chart.plot.x0 - 6, y + slot / 2 + 2.6, label, align=1)
            chart.text(end + 5, y + slot / 2 + 2.6, f"{value:g}", color=SEA)
    else:
        raise SystemExit(f"There is no chart {name!r}; add it to draw_chart in {__file__}.")
    chart.place(page, box)


def draw_cover(page: pymupdf.Page) -> None:
    """Draw the cover: the title over a sea wall and three swells."""
    page.draw_rect(PAGE, color=None, fill=SAND)
    for base, depth, color in ((400, 26, TIDE), (455, 22, (0.16, 0.44, 0.55)), (515, 18, SEA)):
        shape = page.new_shape()
        for start in range(0, int(PAGE.width), 241):
            left, right = pymupdf.Point(start, base), pymupdf.Point(start + 241, base)
            rise, fall = pymupdf.Point(80, -depth), pymupdf.Point(-80, depth)
            shape.draw_bezier(left, left + rise, right + fall, right)
        shape.draw_line((PAGE.width, base), PAGE.br)
        shape.draw_line(PAGE.br, PAGE.bl)
        shape.draw_line(PAGE.bl, (0, base))
        shape.finish(color=None, fill=color, closePath=True)
        shape.commit()
    page.draw_rect(pymupdf.Rect(56, 96, 62, 246), color=None, fill=RUST)
    page.insert_text((80, 118), "TOWN OF PELLHYTHE", fontname="hebo", fontsize=11, color=RUST)
    page.insert_text((78, 168), "Pellhythe", fontname="hebo", fontsize=38, color=SEA)
    page.insert_text((78, 208), "Climate Handbook", fontname="hebo", fontsize=32, color=SEA)
    page.insert_text((80, 242), "Sea, marsh, heat and water: what we know,", fontname="heit", fontsize=12)
    page.insert_text((80, 258), "what is agreed, and what is not", fontname="heit", fontsize=12)
    page.insert_text((80, 606), "Third edition, March 2025", fontname="hebo", fontsize=11, color=SAND)
    page.insert_text(
        (80, 624), "Town Council, Corn Hall, Market Place", fontname="helv", fontsize=10, color=SAND
    )


def draw_contents(pages: list[pymupdf.Page], headings: list[Heading]) -> None:
    """Write the table of contents on its two pages, with dotted leaders."""
    chapters = [index for index, heading in enumerate(headings) if heading.level == 1]
    middle = min(chapters, key=lambda index: abs(index - len(headings) * 0.47))
    for page, entries in zip(pages, (headings[:middle], headings[middle:]), strict=True):
        y = BODY.y0 + 14
        if page is pages[0]:
            page.insert_text((BODY.x0, y + 4), "Contents", fontname="hebo", fontsize=21, color=SEA)
            y += 22
        for entry in entries:
            top = entry.level == 1
            font, size, left = ("hebo", 10, BODY.x0) if top else ("helv", 9.5, BODY.x0 + 16)
            y += 21 if top else 13.5
            number = str(entry.page)
            room = BODY.x1 - left - pymupdf.get_text_length(entry.text + number + "  ", font, size)
            dots = "" if top else "." * int(room / pymupdf.get_text_length(".", font, size))
            page.insert_text((left, y), f"{entry.text} {dots}", fontname=font, fontsize=size)
            x = BODY.x1 - pymupdf.get_text_length(number, font, size)
            page.insert_text((x, y), number, fontname=font, fontsize=size)


def draw_running_lines(document: pymupdf.Document, headings: list[Heading]) -> None:
    """Add the running header above and the page number below every page but the cover."""
    chapter = "Contents"
    for number, page in enumerate(document.pages(), start=1):
        if number == 1:
            continue
        chapter = next((h.text for h in headings if h.level == 1 and h.page == number), chapter)
        x = BODY.x1 - pymupdf.get_text_length(chapter, "heit", 8.5)
        # Behind the body, so that the header comes first in the page's text as it does on paper.
        page.draw_line((BODY.x0, 48), (BODY.x1, 48), color=TIDE, width=0.6, overlay=False)
        page.insert_text((x, 42), chapter, fontname="heit", fontsize=8.5, color=GREY, overlay=False)
        page.insert_text((BODY.x0, 42), TITLE, fontname="helv", fontsize=8.5, color=GREY, overlay=False)
        width = pymupdf.get_text_length(str(number), "helv", 9)
        page.insert_text(
            ((PAGE.width - width) / 2, 654), str(number), fontname="helv", fontsize=9, color=GREY
        )


def build(source: Path, target: Path) -> None:
    """Write the handbook made from `source` to `target`."""
    html = to_html(source.read_text(encoding="utf-8"))
    document, headings = lay_out(html)
    for index in range(FRONT_PAGES):
        document.new_page(pno=index, width=PAGE.width, height=PAGE.height)
    charts = re.findall(r'<img id="([\w-]+)"', html)
    # The places of the empty pictures are read from the pages, since Story reports them a little too high.
    places = [(page, image["bbox"]) for page in document.pages() for image in page.get_image_info()]
    for name, (page, box) in zip(charts, places, strict=True):
        draw_chart(name, page, pymupdf.Rect(box))
    draw_cover(document[0])
    draw_contents([document[1], document[2]], headings)
    draw_running_lines(document, headings)
    document.set_toc([[h.level, h.text, h.page] for h in headings])
    stamp = "D:20250303090000Z"
    document.set_metadata(
        {"title": TITLE, "author": "Town Council of Pellhythe", "subject": "Third edition, March 2025"}
        | {"creationDate": stamp, "modDate": stamp}
    )
    document.subset_fonts()
    target.write_bytes(document.tobytes(garbage=4, deflate=True, no_new_id=True))


if __name__ == "__main__":
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    build(SOURCE, output)
    print(f"{output}: {len(pymupdf.open(output))} pages, {output.stat().st_size:,} bytes")

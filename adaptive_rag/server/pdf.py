"""Lays out HTML as the pages of a PDF, with MuPDF."""

from __future__ import annotations

from io import BytesIO

from adaptive_rag.server.problems import Problem

MOST_PAGES = 2000
_STYLE = """
    body { font-family: sans-serif; font-size: 10pt; line-height: 1.4 }
    h1 { font-size: 18pt } h2 { font-size: 13pt; margin-top: 20pt } h3, h4, h5, h6 { font-size: 11pt }
    table { border-collapse: collapse } th, td { border: 1px solid #999; padding: 3px }
    pre { background-color: #eee; padding: 4px } ul.sources { color: #444; font-size: 9pt }
"""
_MARGIN = 56  # points


def render_pdf(title: str, html: str) -> bytes:
    """Return a PDF of HTML, which must be safe. MuPDF must not run in two threads at a time."""
    import pymupdf

    output = BytesIO()
    writer = pymupdf.DocumentWriter(output)
    story = pymupdf.Story(html, user_css=_STYLE)
    paper = pymupdf.paper_rect("a4")
    frame = pymupdf.Rect(_MARGIN, _MARGIN, paper.width - _MARGIN, paper.height - _MARGIN)
    for _ in range(MOST_PAGES):
        device = writer.begin_page(paper)
        is_more, _ = story.place(frame)
        story.draw(device)
        writer.end_page()
        if not is_more:
            break
    else:
        raise Problem(413, f"A PDF may have {MOST_PAGES:,} pages here. Download this thread as Markdown.")
    writer.close()
    with pymupdf.open("pdf", output.getvalue()) as document:
        document.set_metadata({"title": title})
        document.subset_fonts()
        content: bytes = document.tobytes(garbage=3, deflate=True)
    return content

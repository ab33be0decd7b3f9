"""The loader of Jupyter notebooks: the text, the code and the printed results of each cell, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adaptive_rag.errors import IndexingError
from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.html import read_page
from adaptive_rag.ingest.markdown import add_markdown
from adaptive_rag.ingest.markup_steps import fenced
from adaptive_rag.ingest.tables import read_json
from adaptive_rag.ingest.text import decode
from adaptive_rag.text.visible import visible

# In characters: the most output that is read of one cell, such as the log of a training run.
_LONGEST_OUTPUT = 20_000


def load_notebook(path: Path, builder: TextBuilder) -> None:
    """Write a notebook's cells, each as a page: Markdown with its headings, code and output as blocks."""
    try:
        notebook = read_json(decode(path.read_bytes(), builder))
    except (ValueError, RecursionError) as error:
        raise IndexingError("is no notebook or is damaged. Open it in Jupyter and save it again") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise IndexingError("is no notebook: it has no list of cells. Open it in Jupyter and save it again")
    language = _value_at(notebook, "metadata", "kernelspec", "language")
    if isinstance(language, str):
        builder.metadata["language_of_code"] = language
    for number, cell in enumerate(cells, start=1):
        builder.mark_page(number)
        source = _join_lines(_value_at(cell, "source")).strip("\n")
        if _value_at(cell, "cell_type") == "code":
            _add_block(source, builder)
            outputs = _value_at(cell, "outputs")
            for output in outputs if isinstance(outputs, list) else []:
                _add_output(output, builder)
        elif source.strip():
            builder.begin_paragraph()
            add_markdown(source, builder)


def _add_output(output: Any, builder: TextBuilder) -> None:
    """Add what a cell printed, showed or returned, or its error; an HTML table is written as its rows."""
    page, markdown, text = (
        _join_lines(_value_at(output, "data", f"text/{kind}")) for kind in ("html", "markdown", "plain")
    )
    # The plain text of what `display(HTML(...))` shows is "<IPython.core.display.HTML object>".
    has_text = bool(text) and not text.startswith("<IPython.core.display.")
    if "<table" in page or (page and not has_text):
        if page_text := read_page(page.encode(errors="replace"), "utf-8", builder):
            builder.add_paragraph(page_text[:_LONGEST_OUTPUT])
        return
    if markdown.strip() and not has_text:
        builder.begin_paragraph()
        add_markdown(markdown[:_LONGEST_OUTPUT], builder)
        return
    text = _join_lines(_value_at(output, "text")) or text
    if _value_at(output, "output_type") == "error":
        text = f"{_value_at(output, 'ename')}: {_value_at(output, 'evalue')}"
    _add_block(visible(text).strip("\n")[:_LONGEST_OUTPUT], builder)


def _add_block(text: str, builder: TextBuilder) -> None:
    if text.strip():
        builder.add_paragraph(fenced(text))


def _join_lines(value: Any) -> str:
    """Return a text that a notebook may store as a list of lines."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def _value_at(value: Any, *names: str) -> Any:
    """Return the value at a path of names, or None if a name is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value

"""Fill in the templates beside this file: the judge's prompts, and the report as HTML and as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adaptive_rag.errors import import_extra
from adaptive_rag.text.redaction import redact_known
from adaptive_rag.text.visible import visible


def render(template: str, **values: Any) -> str:
    """Fill in a template; values are escaped in HTML, not in text, and never read as a template.

    Secrets and hidden characters are removed from the result.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    jinja2 = import_extra("jinja2", extra="eval", purpose="Writing the report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=template.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return visible(redact_known(environment.get_template(template).render(**values)))

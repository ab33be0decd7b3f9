"""`adaptive-rag ontology`: check the terms of a domain and try them on a question."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument

from adaptive_rag.cli import options
from adaptive_rag.cli.output import format_count, print_json, print_line


def ontology(
    file: Annotated[Path, Argument(help="The ontology, as YAML.")],
    question: Annotated[str | None, Argument(help="A question to find its terms in.")] = None,
    as_json: options.Json = False,
) -> None:
    """Check an ontology and report each problem with its line; find its terms in a question."""
    from adaptive_rag.analysis import load_ontology

    domain = load_ontology(file)
    categories, terms = domain.categories, len(domain)
    by_category = domain.find_terms(question) if question else {}
    relevance = domain.relevance(question) if question else None
    if as_json:
        print_json({"categories": categories, "terms": terms, "found": by_category, "relevance": relevance})
        return
    groups = "1 category" if len(categories) == 1 else f"{len(categories)} categories"
    print_line(f"{file}: {format_count(terms, 'term')} in {groups}, no problems.")
    if question:
        matches = "; ".join(f"{category}: {', '.join(names)}" for category, names in by_category.items())
        print_line(f"relevance {relevance:.2f}; {matches or 'no terms found'}")

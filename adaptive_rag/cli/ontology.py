"""`adaptive-rag ontology`: propose the terms of a domain, and check and try an ontology."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from adaptive_rag.cli import options
from adaptive_rag.cli.output import (
    format_count,
    print_json,
    print_line,
    print_note,
    print_plain,
    reporting_errors,
)
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.text.redaction import redact

ontology_app = Typer(
    name="ontology",
    help="Propose and check the terms of a domain.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@ontology_app.command()
@reporting_errors
def suggest(
    index: options.Index = None,
    terms: Annotated[int, Option("--terms", min=1, max=1000, help="How many terms to propose.")] = 60,
    categories: Annotated[int, Option("--categories", min=1, max=50, help="How many groups at most.")] = 8,
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write the YAML to this file, which must not exist yet.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Propose an ontology from an index: its salient terms, grouped, for a person to edit."""
    from adaptive_rag.analysis import format_ontology, suggest_ontology
    from adaptive_rag.index.index import open_source
    from adaptive_rag.source import ListsChunks

    address = options.index_address(index)
    source = open_source(address)
    address = redact(address)
    if not isinstance(source, ListsChunks):
        raise ConfigurationError(f"{address!r} cannot list its passages, from which an ontology is proposed.")
    texts = (chunk["text"] for chunk in source.chunks())
    suggestions = suggest_ontology(texts, terms=terms, categories=categories)
    if as_json:
        print_json(dict(suggestions))
        return
    if not suggestions:
        raise ConfigurationError(f"No terms stand out in {address!r}: it holds too little text.")
    text = format_ontology(suggestions, origin=address)
    if output is None:
        print_plain(text)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        problem = f"The ontology cannot be written to {str(output)!r}: {error.strerror}."
        raise ConfigurationError(f"{problem} Choose a path that does not exist yet.") from error
    count = sum(len(suggestion.terms) for suggestion in suggestions)
    usage = "Edit it, then use it: --set ontology=FILE (with route: --ontology FILE)."
    print_note(f"{output}: {format_count(count, 'term')}. {usage}")


@ontology_app.command()
@reporting_errors
def check(
    file: Annotated[Path, Argument(help="The ontology, as YAML.")],
    question: Annotated[str | None, Argument(help="A question to find its terms in.")] = None,
    as_json: options.Json = False,
) -> None:
    """Check an ontology and report each problem with its line; find its terms in a question."""
    from adaptive_rag.analysis import load_ontology

    ontology = load_ontology(file)
    categories, terms = ontology.categories, len(ontology)
    by_category = ontology.find_terms(question) if question else {}
    relevance = ontology.relevance(question) if question else None
    if as_json:
        print_json({"categories": categories, "terms": terms, "found": by_category, "relevance": relevance})
        return
    groups = "1 category" if len(categories) == 1 else f"{len(categories)} categories"
    print_line(f"{file}: {format_count(terms, 'term')} in {groups}, no problems.")
    if question:
        matches = "; ".join(f"{category}: {', '.join(names)}" for category, names in by_category.items())
        print_line(f"relevance {relevance:.2f}; {matches or 'no terms found'}")

"""`adaptive-rag search`: show the passages that a question finds, without an answer."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated, cast

from typer import Argument, Option

from adaptive_rag.cli import options
from adaptive_rag.cli.answers import print_heading
from adaptive_rag.cli.failures import print_failures
from adaptive_rag.cli.output import (
    format_source_place,
    print_block,
    print_json,
    short_source,
    snippet,
    stdout,
    with_display_names,
)
from adaptive_rag.cli.session import restrict_to_documents
from adaptive_rag.text.places import format_other_names, place_at

if TYPE_CHECKING:
    from adaptive_rag.context import Context
    from adaptive_rag.state import Candidate, RetrievalState

EXCERPT_LENGTH = 320


def search(
    question: Annotated[str, Argument(help="What to look for; - reads it from standard input.")],
    ask_options: options.RouteOptions,
    docs: options.Docs = None,
    full: Annotated[bool, Option("--full", help="Show the whole text of every chunk.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the passages that a question finds, with their scores."""
    from adaptive_rag.context import make_context
    from adaptive_rag.graph.builder import build_retrieval_graph
    from adaptive_rag.state import InputState

    state = InputState(question=options.read_question_argument(question), user_context=ask_options.context)
    context = make_context(restrict_to_documents(docs, ask_options.settings()))
    result = build_retrieval_graph().compile().invoke(state, context=context)
    retrieved = cast("RetrievalState", result)
    if as_json:
        print_json(retrieved)
        print_failures(retrieved["trace"], abstained=False)
        return
    print_heading(retrieved["analysis"])
    if not retrieved["documents"]:
        stdout().print("  Nothing was found.")
    unrelated = _find_unrelated(retrieved, context)
    for rank, document in enumerate(
        with_display_names(retrieved["documents"], context, paths=ask_options.paths), start=1
    ):
        length = len(document["text"]) if full else EXCERPT_LENGTH
        _print_document(rank, document, length, is_unrelated=document["id"] in unrelated)
    print_failures(retrieved["trace"], abstained=False)


def _find_unrelated(retrieved: RetrievalState, context: Context) -> set[str]:
    """Return the ids of the passages that share no word with any query, and have no sentence near one.

    A search always finds something. Distances in other languages than English are not comparable.
    """
    from adaptive_rag.answer.evidence import NEAR
    from adaptive_rag.index.index import source_of
    from adaptive_rag.models.onnx import load_minilm
    from adaptive_rag.rank.relevance import sentences_of
    from adaptive_rag.text.words import is_german, terms

    if is_german(retrieved["question"]):
        return set()
    documents = retrieved["documents"]
    queries = chain.from_iterable(record.get("queries", ()) for record in retrieved["trace"])
    texts = [*dict.fromkeys([retrieved["question"], *queries])]
    words, vectors = set(chain.from_iterable(map(terms, texts))), load_minilm().encode(texts)
    sentences = [each.vectors for each in sentences_of(source_of(context), documents)]
    return {
        document["id"]
        for document, own in zip(documents, sentences, strict=True)
        if words.isdisjoint(terms(document["text"])) and len(own) and (own @ vectors.T).max() < NEAR
    }


def _print_document(rank: int, document: Candidate, length: int, *, is_unrelated: bool) -> None:
    section = document["section"]
    place = format_source_place(document["source"], place_at(document, document["start"], document["end"]))
    place += f" · {section}" if section and section not in place else ""
    other_names = format_other_names([short_source(name) for name in document["metadata"].get("also_as", ())])
    heading = (place, "bold"), (f"  ({other_names})" if other_names else "", "dim")
    print_block((f"{rank:>2}  ", "bold blue"), *heading, hanging=4)
    if document["labels"]:
        print_block(f"for {'; '.join(document['labels'])}", style="italic dim", indent=6)
    if is_unrelated:
        note = "probably about something else: it has no word of the question, and no sentence near it"
        print_block(note, style="italic dim", indent=6)
    print_block(snippet(document["text"], document["source"], length), indent=6)
    scores = " · ".join(f"{name} {value:.2f}" for name, value in document["scores"].items())
    print_block(scores, style="dim", indent=6)
    stdout().print()

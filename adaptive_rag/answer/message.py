"""Makes the chat message for an answer, with its citations as LangChain annotations and as metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage
from langchain_core.messages.content import Citation as Annotation
from langchain_core.messages.content import TextContentBlock

from adaptive_rag.state import Citation
from adaptive_rag.text.markers import iter_markers, number_of
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.words import terms

# The indices of a sentence of the answer and of a citation.
Pair: TypeAlias = tuple[int, int]


def answer_message(answer: str, citations: Sequence[Citation], message_id: str | None = None) -> AIMessage:
    """Return the message for an answer; without citations, its content is the plain text.

    `response_metadata["citations"]` holds the citations in the same form as the output.
    """
    metadata: dict[str, Any] = {"citations": list(citations)}
    if not citations:
        return AIMessage(answer, id=message_id, response_metadata=metadata)
    block = TextContentBlock(type="text", text=answer, annotations=[*annotate(answer, citations)])
    # The version tells LangChain that the content is already in its standard form.
    return AIMessage(
        content_blocks=[block], id=message_id, response_metadata={"output_version": "v1", **metadata}
    )


def annotate(answer: str, citations: Sequence[Citation]) -> list[Annotation]:
    """Return an annotation for each sentence of the answer and each of its citations, in the answer's order.

    `start_index` and `end_index` count characters of the answer, as in LangChain; the span in the source is
    in `extras`, with the marker and the page. Several sentences of the passage behind a marker may be quoted,
    so a sentence of the answer gets the quote that shares most words with it.
    """
    lines = re.finditer(r"[^\n]+", answer)
    spans = [span for line in lines for span in sentence_spans(line.group(), line.start())]
    marks = [(mark.start(), number_of(mark[0])) for mark in iter_markers(answer)]
    quote_terms = [{*terms(citation["quote"])} for citation in citations]
    shared: dict[Pair, int] = {}
    for sentence, (start, end) in enumerate(spans):
        sentence_terms = {*terms(answer[start:end])}
        markers = {number for offset, number in marks if start <= offset < end}
        for index, citation in enumerate(citations):
            if citation["marker"] in markers:
                shared[sentence, index] = len(sentence_terms & quote_terms[index])
    pairs = _closest(shared, lambda pair: (pair[0], citations[pair[1]]["marker"]))
    unused = {index for _, index in shared} - {index for _, index in pairs}
    pairs |= _closest({pair: shared[pair] for pair in shared if pair[1] in unused}, lambda pair: pair[1])
    return [_annotation(spans[sentence], citations[index]) for sentence, index in sorted(pairs)]


def _closest(shared: Mapping[Pair, int], group: Callable[[Pair], Hashable]) -> set[Pair]:
    """Return the pair of each group that shares most words; the first one in a tie."""
    best: dict[Hashable, Pair] = {}
    for pair in sorted(shared, key=lambda pair: -shared[pair]):
        best.setdefault(group(pair), pair)
    return {*best.values()}


def _annotation(span: tuple[int, int], citation: Citation) -> Annotation:
    source = citation["source"]
    annotation = Annotation(
        type="citation",
        title=source,
        start_index=span[0],
        end_index=span[1],
        cited_text=citation["quote"],
        extras={name: value for name, value in citation.items() if name not in ("source", "quote")},
    )
    return {**annotation, "url": source} if "://" in source else annotation

"""Prints an answer while it is being written, with what the steps before it are doing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from adaptive_rag.cli.output import stderr, stdout

if TYPE_CHECKING:
    from adaptive_rag.runnable import AdaptiveRAG
    from adaptive_rag.state import OutputState

# What a reader sees while a step runs.
DOING = {
    "classify": "reading the question",
    "enhance": "sharpening the query",
    "decompose": "splitting the question",
    "viewpoints": "naming viewpoints",
    "contextualize": "putting the question in context",
    "retrieve": "searching",
    "rerank": "scoring passages",
    "diversify": "choosing passages",
    "balance": "balancing viewpoints",
    "fuse": "joining two strategies",
    "generate": "writing",
}


def answer_live(rag: AdaptiveRAG, state: dict[str, Any], config: dict[str, Any] | None = None) -> OutputState:
    """Ask, print the answer as it comes, and return the output.

    An answer that its check changed is printed again, since what was streamed cannot be taken back.
    """
    from adaptive_rag.cli.answers import print_answer, print_citations_and_facts

    started = time.perf_counter()
    output: dict[str, Any] = {}
    streamed = ""
    with stderr().status("reading the question", spinner="dots") as status:
        for mode, part in _stream(rag, state, config):
            if mode == "values":
                output = part
            elif mode == "custom" and part.get("event") == "started" and not streamed:
                status.update(DOING.get(part["step"], part["step"]))
            elif mode == "messages" and _is_token(part[0]):
                if not streamed:
                    status.stop()
                    _begin(output)
                streamed += part[0].text
                stdout().print(part[0].text, end="", markup=False, soft_wrap=True)
    seconds = time.perf_counter() - started
    final = cast("OutputState", output)
    if streamed and streamed.strip() == output["answer"]:
        stdout().print("\n")
        print_citations_and_facts(final, seconds)
    else:
        if streamed:
            stdout().print("\n\n  [dim](the check of this draft changed it:)[/]")
        print_answer(final, seconds)
    return final


def _stream(
    rag: AdaptiveRAG, state: dict[str, Any], config: dict[str, Any] | None
) -> Iterator[tuple[str, Any]]:
    modes = ["messages", "custom", "values"]
    # Steps inside a strategy report from a subgraph; their namespace is of no interest here.
    for part in rag.stream(state, config, stream_mode=modes, subgraphs=True):  # type: ignore[arg-type]
        namespace, mode, value = part
        if mode != "values" or not namespace:
            yield mode, value


def _is_token(message: Any) -> bool:
    from langchain_core.messages import AIMessageChunk

    return isinstance(message, AIMessageChunk) and bool(message.text)


def _begin(output: dict[str, Any]) -> None:
    from adaptive_rag.cli.answers import print_heading

    if output.get("analysis"):
        print_heading(output["analysis"])
    else:
        stdout().print()

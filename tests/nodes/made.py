"""A report over three pages whose chunks overlap, for tests of what is read and cited."""

import re

from adaptive_rag.analysis import analyse
from adaptive_rag.context import make_context
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.ingest import split
from adaptive_rag.ingest.documents import Page, SourceText
from adaptive_rag.search.search import search
from adaptive_rag.state import Candidate, Hit, Query
from adaptive_rag.text.sentences import sentence_spans

PAGES = [
    "The sea wall of Saltmere was built in 1968. It is 2,340 metres long and 4.1 metres high. "
    "The council paid for the wall with a loan of nine million crowns. The loan was repaid in 1988. "
    "Every stone of the wall came from the quarry at Pell Hill. The quarry closed soon after the works.",
    "Waves have worn the foot of the sea wall by a hand's breadth since then. Divers measure the damage "
    "every second spring. Supporters of a higher wall say that it protects 900 homes. They argue that one "
    "flood costs more than the building works. Opponents say that a higher wall hides the beach and "
    "drives guests away.",
    "The hotels fear two summers without trade. Fishers want a gate in the wall so that boats can pass. "
    "The council decides on the sea wall in May. Its engineers recommend to raise the wall by 80 "
    "centimetres. Owners of houses on the quay should fit door boards until the wall is raised.",
]
TEXT = " ".join(PAGES)
SENTENCES = [TEXT[start:end] for start, end in sentence_spans(TEXT)]
ADVICE = [
    "Know the four alert levels before winter.",
    "Keep a torch and a radio in the hall.",
    "Write the number of the flood desk on the fridge.",
    "Check the gauge every morning.",
    "Farmers move their animals to the high pasture first.",
    "Guests of the hotels are told at breakfast.",
]
QUESTIONS = {
    "factual": "How long is the sea wall of Saltmere?",
    "analytical": "How do the waves and the works on the sea wall affect the town?",
    "opinion": "What are the views on raising the sea wall?",
    "contextual": "How should I prepare for a flood?",
}


def report(size=260, overlap=120, source="report.pdf"):
    """Return the report's chunks."""
    pages, start = [], 0
    for number, text in enumerate(PAGES, start=7):
        pages.append(Page(number, start))
        start += len(text) + 1
    return list(split(SourceText(source, TEXT, "0" * 64, pages=tuple(pages)), size=size, overlap=overlap))


def index():
    """Return the report in memory."""
    return MemoryIndex(report())


def page_of(offset):
    """Return the page that a character of the report stands on."""
    starts = [0, len(PAGES[0]) + 1, len(PAGES[0]) + len(PAGES[1]) + 2]
    return 6 + sum(start <= offset for start in starts)


def ranked(*places, labels=()):
    """Return chunks of the report as a strategy hands them on, by their places in it."""
    chunks = report()
    return [
        {**chunks[place], "scores": {"fused": 1 - rank / 10}, "labels": list(labels), "route": "factual"}
        for rank, place in enumerate(places)
    ]


def passages_of(prompt):
    """Return the text of each passage of a prompt, in order."""
    bodies = re.findall(r'<passage n="\d+"[^>]*>\n(.*?)\n</passage>', prompt, re.DOTALL)
    return [" ".join(line.removeprefix("| ") for line in body.splitlines()) for body in bodies]


def first_hits(source: MemoryIndex, question: str) -> list[Candidate]:
    """Return the ten best candidates of a plain search, for a node that begins with some."""
    found, _ = search(source, [Query(text=question)], make_context(), analyse(question))
    return found[:10]


def hits_of(found: list[Candidate], *labels: str | None) -> list[Hit]:
    """Return what branches of these labels hand on that all found the same."""
    return [
        Hit(order=order, label=label, candidates=found, record={"step": "retrieve"})
        for order, label in enumerate(labels)
    ]

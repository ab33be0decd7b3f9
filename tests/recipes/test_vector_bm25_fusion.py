"""The recipe vector-bm25-fusion, rule by rule, on small indexes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adaptive_rag.context import make_context
from adaptive_rag.errors import ConfigurationError
from adaptive_rag.graph.builder import build_graph, build_retrieval_graph
from adaptive_rag.index import Index
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.ingest import extract_text
from adaptive_rag.search import words
from adaptive_rag.search.words import EveryChunk
from adaptive_rag.source import ChunkSource
from adaptive_rag.testing import ScriptedChatModel
from tests.conftest import TOWN
from tests.ingest.made_pdf import make_pdf, paragraph
from tests.recipes.made import okapi, scaled
from tests.traces import decisions

QUESTION = "How long is the sea wall?"
ALPHA, K = 0.5, 5


def ask(source: ChunkSource, question: str = QUESTION, **settings: Any) -> dict[str, Any]:
    context = make_context(index=source, recipe="vector-bm25-fusion", **settings)
    return build_retrieval_graph().compile().invoke({"question": question}, context=context)


def expected(source: Any, texts: list[str], alpha: float = ALPHA) -> dict[str, float]:
    """Return the best texts and their score by the formula, over all of them."""
    [found] = source.search([QUESTION], limit=len(texts))
    cosine = {candidate["text"]: candidate["scores"]["dense"] for candidate in found}
    vector = np.array([cosine[text] for text in texts])
    final = alpha * scaled(vector) + (1 - alpha) * scaled(okapi(texts, QUESTION))
    return {texts[i]: final[i] for i in np.argsort(-final, kind="stable")[:K]}


def test_five_passages_by_half_of_each_score_over_all_chunks(town: MemoryIndex, built_town: Index) -> None:
    for source in (town, built_town):
        documents = ask(source)["documents"]
        assert len(documents) == K
        found = {document["text"]: document["scores"]["fused"] for document in documents}
        wanted = expected(source, TOWN)
        assert list(found) == list(wanted)
        assert found == pytest.approx(wanted)
        assert all("relevance" not in document["scores"] for document in documents)


def test_a_callers_alpha_wins_over_the_recipes(town: MemoryIndex) -> None:
    documents = ask(town, retrieval={"alpha": 0.9})["documents"]
    assert [document["text"] for document in documents] == list(expected(town, TOWN, alpha=0.9))


def test_the_trace_says_how_both_were_weighed(town: MemoryIndex) -> None:
    [fusion] = decisions(ask(town), "fusion")
    assert fusion["chosen"] == "alpha 0.50"
    assert fusion["why"] == "set by the caller; BM25Okapi scored all 18 chunks"


def test_beyond_its_limit_the_index_s_own_bm25_is_advised(
    town: MemoryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "OKAPI_UP_TO", len(TOWN))
    assert ask(town)["documents"]
    monkeypatch.setattr(words, "OKAPI_UP_TO", len(TOWN) - 1)
    model = ScriptedChatModel()
    with pytest.raises(ConfigurationError, match=r"18: expected at most 17.*\.lexical to 'index', whose own"):
        ask(town, model=model)
    assert model.skills == []
    assert ask(town, retrieval={"lexical": "index"})["documents"]


def test_one_call_writes_the_answer_and_no_other_is_made(town: MemoryIndex) -> None:
    model = ScriptedChatModel()
    context = make_context(index=town, recipe="vector-bm25-fusion", model=model)
    for question in (QUESTION, "Why does the marsh shrink, and what follows?", "Is the sea wall worth it?"):
        build_graph().compile().invoke({"question": question}, context=context)
    assert model.skills == ["generate"] * 3


# Text cleaned before it is cut, spans kept


def test_blanks_tabs_and_line_ends_of_a_pdf_are_squeezed_before_it_is_cut(tmp_path: Path) -> None:
    lines = ["The  sea \t wall   of Saltmere", "is 2,340\tmetres    long and", "4.1  metres \t\t high."]
    file = make_pdf(tmp_path / "wall.pdf", [paragraph(lines)])
    Index.build([file], tmp_path / "index")
    index = Index.open(tmp_path / "index")
    [document] = ask(index)["documents"]
    assert document["text"] == "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high."
    assert extract_text(file).text[document["start"] : document["end"]] == document["text"]


def test_in_plain_text_blanks_count_for_neither_score_and_the_file_stays_as_it_is(tmp_path: Path) -> None:
    messy = "The  sea\twall\nof Saltmere   is \t\n 2,340 metres\nlong."
    (tmp_path / "wall.txt").write_text(messy)
    Index.build([tmp_path / "wall.txt"], tmp_path / "index")
    index = Index.open(tmp_path / "index")
    [document] = ask(index)["documents"]
    assert messy[document["start"] : document["end"]] == document["text"]
    clean = MemoryIndex.from_texts([" ".join(messy.split())])
    for name in ("dense", "sparse"):
        [[ours]], [[theirs]] = (EveryChunk(s).search([QUESTION], limit=1) for s in (index, clean))
        assert ours["scores"][name] == pytest.approx(theirs["scores"][name], abs=1e-5)


def test_its_bm25_alone_is_okapis_over_all_chunks(town: MemoryIndex) -> None:
    output = ask(town, retrieval={"fusion": "sparse"})
    scores = okapi(TOWN, QUESTION)
    best = [TOWN[i] for i in np.argsort(-scores, kind="stable")[: (scores > 0).sum()]]
    found = [document["text"] for document in output["documents"]]
    assert found[:3] == best[:3]
    [decision] = decisions(output, "fusion")
    assert f"BM25Okapi scored all {len(TOWN)} chunks" in decision["why"]

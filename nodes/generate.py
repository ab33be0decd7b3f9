"""The last step of every strategy: answer with citations, or say that the documents hold no answer."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from typing import Any

from langgraph.runtime import Runtime

from adaptive_rag.answer.aggregate import work_out
from adaptive_rag.answer.check import MAX_SENTENCES, Review, review_draft
from adaptive_rag.answer.compose import answer_locally, quote_plainly
from adaptive_rag.answer.draft import DraftAnswer, DraftQuestion, ask_to_draft
from adaptive_rag.answer.evidence import Evidence, nearest_quote, rate_passages, say_abstention
from adaptive_rag.answer.message import answer_message
from adaptive_rag.answer.overview import outline_document, outline_documents, tell_section
from adaptive_rag.answer.passages import read_passages, read_sentences
from adaptive_rag.answer.quotes import WholeAnswer
from adaptive_rag.answer.request import AnswerRequest, AnswerStyle
from adaptive_rag.answer.styles import STYLES
from adaptive_rag.answer.times import title_of
from adaptive_rag.answer.versions import find_newest_versions
from adaptive_rag.context import Context, context_of
from adaptive_rag.index.index import source_of
from adaptive_rag.llm.request import Request
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.models.reader import load_reader
from adaptive_rag.nodes.step import Steps, Update, step
from adaptive_rag.optional import attempt
from adaptive_rag.query.follow_up import last_question
from adaptive_rag.query.history import ends_with_question, full_question, own_words, spelt_question
from adaptive_rag.query.parts import full_parts
from adaptive_rag.query.whole_document import asks_for_all, document_asked_for, heading_asked_for
from adaptive_rag.rank.stances import Side, asked_side
from adaptive_rag.source import ChoosesSources, ChunkSource, KnowsNotes, ListsChunks, ListsSources
from adaptive_rag.state import Candidate, Citation, Decision, DecisionKind, Outcome, Phrase, State
from adaptive_rag.text.phrases import CitedText, decide, link_markers, parts_of, say
from adaptive_rag.text.tokens import BYTES_PER_TOKEN
from adaptive_rag.text.words import is_german, terms

# How many chunks of a document are read to find its beginning, and where that is: after its front matter.
FIRST_CHUNKS, LATEST_BEGINNING = 5, 1000
# Number of chunks that are searched for a name that no passage has.
CHUNKS_LOOKED_UP = 10


@step
def generate(state: State, runtime: Runtime[Context], styles: Mapping[str, AnswerStyle] = STYLES) -> Steps:
    """Answer from the documents with citations, or abstain where they do not hold the answer."""
    context = context_of(runtime)
    update = yield from _generate(state, context, styles)
    if kept := context.served.kept:
        update["messages"][-1].response_metadata["kept"] = dict(kept)
    return update


def _generate(state: State, context: Context, styles: Mapping[str, AnswerStyle]) -> Steps:
    if small_talk := state.get("reply"):
        decision = decide("answer", "small talk", say("asks_nothing"))
        return _answer(state, CitedText(small_talk), 1.0, [decision], confidence=None)
    state, decisions, overview = _choose_passages(state, context)
    if not state["documents"]:
        return _abstain(state, context, Evidence(0.0, "refusal", say("nothing_found")))
    if table_answer := attempt("tables", partial(_work_out, state, context), None):
        decisions.append(decide("worked out", table_answer.basis, say("all_in_table")))
        state = {**state, "documents": table_answer.passages}
        return _answer(state, table_answer, 1.0, decisions, confidence=None)
    missing_side = attempt("sides", partial(_missing_side, state), None)
    style = styles[state["query_type"]]
    [reply] = yield [_ask_to_draft(state, context, style, missing_side)]
    request = _answer_request(state, style, context, missing_side)
    if reply.result is not None and (
        update := _answer_by_draft(reply.result, state, context, request, decisions)
    ):
        return update
    if overview:
        decisions.insert(0, decide("overview", overview.basis, say("asks_for_whole")))
        return _answer(state, overview, 1.0, decisions, confidence=None)
    return _answer_by_quotes(state, context, request, decisions)


def _choose_passages(state: State, context: Context) -> tuple[State, list[Decision], WholeAnswer | None]:
    """Return the state with the passages to read as its documents; from here on, [n] is the nth of them.

    Where the question asks for a document or a section as a whole, they are the passages of its overview,
    which is returned as well.
    """
    overview = attempt("overview", partial(_overview, state, context), None)
    documents = overview.passages if overview else state["documents"]
    if not documents:
        return state, [], None
    unchanged: tuple[list[Candidate], list[Decision]] = documents, []
    add = partial(_add_newest_versions, documents, state, context)
    documents, versions = unchanged if overview else attempt("versions", add, unchanged)
    # An overview's markers count all of its passages; the draft has its own limit for what the model reads.
    tokens = sys.maxsize if overview else context.answers.context_tokens
    read = partial(read_passages, documents, tokens=tokens)
    joins = context.uses("join") and not overview
    joined = attempt("join", partial(read, join=True), None) if joins else None
    passages, decisions = joined or read(join=False)
    decisions += versions
    decisions += attempt("notes", partial(_notes_on, passages, source_of(context, state)), [])
    return {**state, "documents": passages}, decisions, overview


def _add_newest_versions(
    documents: list[Candidate], state: State, context: Context
) -> tuple[list[Candidate], list[Decision]]:
    """Put the best passage of a document's newest version before those of an older version that was found."""
    source = source_of(context, state)
    if not isinstance(source, ChoosesSources):
        return documents, []
    decisions, first_text = list[Decision](), cache(partial(_first_text, documents, source))
    newest = find_newest_versions(spelt_question(state), documents, source.sources, first_text)
    for old, new in newest.items():
        [found] = source.only({new}).search([full_question(state)], limit=1)
        place = next(i for i, document in enumerate(documents) if document["source"] == old)
        best = max(found, key=lambda passage: passage["scores"]["dense"])
        documents = [*documents[:place], best, *documents[place:]]
        decisions.append(decide("versions", title_of(new), say("version_added", name=title_of(old))))
    return documents, decisions


def _overview(state: State, context: Context) -> WholeAnswer | None:
    source, documents = source_of(context, state), state["documents"]
    titles = {  # the sections of a file of letters are their authors
        passage["source"]: passage["metadata"].get("subject", (passage["section"] or "").partition(" > ")[0])
        for passage in reversed(documents)
    }
    question = spelt_question(state)
    if name := document_asked_for(question, source, titles):
        return outline_document(name, source)
    if asks_for_all(state["question"], source):
        return outline_documents(source)
    heading = heading_asked_for(question)
    return tell_section(heading, documents, source) if heading else None


def _notes_on(passages: Sequence[Candidate], source: ChunkSource) -> list[Decision]:
    """Return a decision for each part of the passages' documents that could not be read."""
    if not isinstance(source, KnowsNotes):
        return []
    names = dict.fromkeys(passage["source"] for passage in passages)
    return [Decision(what="reading", chosen=name, why=note) for name in names for note in source.notes(name)]


def _work_out(state: State, context: Context) -> WholeAnswer | None:
    question = spelt_question(state)
    if state.get("subject") or state.get("implied_context") or is_german(question):
        return None  # the question lacks its subject, depends on the user's situation, or is not in English
    return work_out(question, state["documents"], source_of(context, state))


def _missing_side(state: State) -> Side | None:
    """Return the side of the debate that the opinion strategy did not find, or None.

    None also where the question asks only for the other side, and after a hedge, since passages of another
    strategy are read too.
    """
    analysis = state.get("analysis")
    if analysis and analysis["alternatives"]:
        return None
    decisions = [decision for record in state["trace"] for decision in record.get("decisions", ())]
    missing: Side | None = next((d["chosen"]["missing"] for d in decisions if d["what"] == "sides"), None)
    return missing if asked_side(state["question"]) in (None, missing) else None


def _ask_to_draft(
    state: State, context: Context, style: AnswerStyle, missing_side: Side | None
) -> Request[DraftAnswer]:
    passages = state["documents"]
    question = DraftQuestion(
        state["question"],
        _situation(state),
        state.get("history", []),
        missing_side,
        aspects=list(dict.fromkeys(label for passage in passages for label in passage["labels"])),
    )
    return ask_to_draft(
        question,
        state["query_type"],
        style,
        passages,
        budget=context.answers.context_tokens * BYTES_PER_TOKEN,
        prompts=context.models.prompts,
    )


def _situation(state: State) -> str:
    """Return what a model is told about the user; only the contextual route infers more than was given."""
    return state.get("implied_context") or state.get("user_context", "")


def _answer_request(
    state: State, style: AnswerStyle, context: Context, missing_side: Side | None
) -> AnswerRequest:
    documents, question = state["documents"], spelt_question(state)
    parts = full_parts(state) if style.splits else []
    # The reader knows only English.
    uses_reader = context.uses("reader") and not is_german(question)
    return AnswerRequest(
        question=question,
        style=style,
        documents=documents,
        sentences=read_sentences(documents, source_of(context, state).sentences),
        question_vector=load_minilm().encode([full_question(state)])[0],
        reader=load_reader(context.reader) if uses_reader else None,
        previous_question=_previous_question(state),
        situation=state.get("implied_context", ""),
        parts=parts if len(parts) > 1 else [],
        missing_side=missing_side,
        first_text=cache(partial(_first_text, documents, source_of(context, state))),
        look_up=lambda name: source_of(context, state).search([name], limit=CHUNKS_LOOKED_UP)[0],
    )


def _previous_question(state: State) -> str:
    """Return the question that a follow-up refers to, with the words that it means of the answer."""
    if not (subject := state.get("subject")):
        return ""
    history = state.get("history", [])
    asked = {term for turn in history if turn["role"] == "user" for term in terms(turn["text"])}
    referents = (word for word in subject.split() if not asked.issuperset(terms(word)))
    return " ".join([last_question(history), *referents])


def _first_text(documents: Sequence[Candidate], source: ChunkSource, name: str) -> str:
    """Return the beginning of a document; "" where its chunks cannot be listed."""
    document = source.only({name}) if isinstance(source, ChoosesSources) else None
    chunks = document.chunks() if isinstance(document, ListsChunks) else documents
    own = (chunk for chunk in islice(chunks, FIRST_CHUNKS) if chunk["source"] == name)
    first = min(own, key=lambda chunk: chunk["start"], default=None)
    return first["text"] if first and first["start"] < LATEST_BEGINNING else ""


def _answer_by_draft(
    draft: DraftAnswer, state: State, context: Context, request: AnswerRequest, decisions: list[Decision]
) -> Update | None:
    """Return the checked draft as the answer, or None where it cannot be used; add to `decisions`."""
    with_situation = replace(request, situation=_situation(state))
    # The check also removes links, so a draft on which it failed is not shown.
    check = partial(review_draft, draft.text, with_situation, load_minilm().encode)
    review = attempt("check", check, None)
    if review is None:
        return None
    decisions += _review_decisions(review)
    flaw = review.flaw or say("draft_empty")
    if not review.knows:
        return _abstain(state, context, Evidence(0.0, "refusal", flaw), decisions, request)
    # A draft without text after the check is not used, even where the extractive fallback is off.
    if not review.text.strip() or (review.flaw and context.uses("extractive-fallback")):
        decisions.append(decide("answer", "extractive", flaw))
        return None
    return _answer(
        state,
        CitedText(link_markers(review.text, review.citations)),
        review.grounding.share,
        decisions,
        # A draft that the check changed is a different message from the one that was streamed.
        draft.message_id if review.text == draft.text else None,
        citations=review.citations,
        confidence=rate_passages(request),
    )


def _review_decisions(review: Review) -> list[Decision]:
    changes: list[tuple[DecisionKind, Any, Phrase]] = [
        ("markers dropped", review.unknown, say("no_such_numbers")),
        ("markers added", review.added, say("marked_by_support")),
        ("compared", "numbers" if review.translated else "", say("other_language")),
        ("links removed", review.removed, say("own_links_alone")),
        (
            "shortened",
            "generate" if review.left_out else "",
            say("at_most_sentences", n=MAX_SENTENCES, more=review.left_out),
        ),
    ]
    decisions = [decide(what, chosen, why) for what, chosen, why in changes if chosen]
    unsupported = zip(review.grounding.unsupported, review.grounding.reasons, strict=True)
    return decisions + [
        Decision(what="unsupported", chosen=claim, why=reason) for claim, reason in unsupported
    ]


def _answer_by_quotes(
    state: State, context: Context, request: AnswerRequest, decisions: list[Decision]
) -> Update:
    """Answer by quotes, show the closest passages, or abstain."""
    answer = partial(answer_locally, request, abstains=context.uses("abstain"))
    evidence, written = attempt("answer style", answer, None) or quote_plainly(request)
    decisions += request.decisions
    if written is None or not written.text:
        if written is not None:
            code = f"nothing_argues_{request.missing_side}" if request.missing_side else "nothing_quotable"
            evidence = replace(evidence, outcome="refusal", reason=say(code))
        return _abstain(state, context, evidence, decisions, request)
    decisions.insert(0, decide("evidence", evidence.outcome, evidence.reason))
    if evidence.outcome == "closest" and context.uses("abstain"):
        decisions.append(decide("closest", say("closest")["text"], say("says_closest")))
        if is_german(request.question):
            written = CitedText([*written.pieces, "\n\n", say("only_english")])
    outcome: Outcome = evidence.outcome if context.uses("abstain") else "answer"
    return _answer(state, written, 1.0, decisions, confidence=evidence.confidence, outcome=outcome)


def _abstain(
    state: State,
    context: Context,
    evidence: Evidence,
    decisions: Sequence[Decision] = (),
    request: AnswerRequest | None = None,
) -> Update:
    queries = [query for record in state["trace"] for query in record.get("queries", [])]
    source = source_of(context, state)
    documents = len(source.sources()) if isinstance(source, ListsSources) else None
    nearest = attempt("nearest quote", partial(nearest_quote, request), None) if request else None
    pieces = say_abstention(
        spelt_question(state), queries, documents, nearest, context.where, evidence.missing
    )
    if evidence.confidence is None and is_german(state["question"]):
        pieces += [" ", say("only_english")]
    decisions = [decide("evidence", "abstain", evidence.reason), *decisions]
    refusal = CitedText(pieces)
    return _answer(state, refusal, 0.0, decisions, confidence=evidence.confidence, outcome="refusal")


def _answer(
    state: State,
    written: CitedText,
    grounding: float,
    decisions: Sequence[Decision],
    message_id: str | None = None,
    *,
    citations: list[Citation] | None = None,
    confidence: float | None,
    outcome: Outcome = "answer",
) -> Update:
    """Return the update for an answer.

    The message's `response_metadata` says when the question was asked (seconds since 1970), for whom, how it
    was answered, how sure the answer is and what was decided about it, for those who read the conversation
    later. The message has the id of the message that was streamed, so that message streams do not repeat it.

    `citations` are by default those of the answer's marks.
    """
    text, citations = written.text, written.citations if citations is None else citations
    parts = parts_of(written.pieces, citations)
    quality = {
        "grounding": grounding,
        "confidence": None if confidence is None else round(confidence, 3),
        "outcome": outcome,
        "abstained": outcome == "refusal",
    }
    message = answer_message(text, citations, message_id)
    message.response_metadata |= {
        "query_type": state["query_type"],
        "user_context": state.get("user_context", ""),
        "decisions": list(decisions),
        "asked_at": state.get("started_at"),
        "parts": parts,
        **quality,
    }
    return {
        # A thread's next question reads its history from the messages, unless its caller gives one, and adds
        # the profile as it is then.
        "history": [],
        "user_context": own_words(state),
        "profile": "",
        "documents": state["documents"],
        "answer": text,
        "parts": parts,
        "citations": citations,
        **quality,
        "messages": [*_question_message(state), message],
        "record": {"decisions": list(decisions)},
    }


def _question_message(state: State) -> list[Any]:
    """Return the question as a message to add, unless it came as one.

    It is a plain dict, which message streams leave out.
    """
    if ends_with_question(state.get("messages", []), state["question"]):
        return []
    return [{"role": "user", "content": state["question"]}]

"""Judges whether the documents contain an answer; the outcome is an answer, close passages or a refusal."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from adaptive_rag.answer.links import keep_own_links
from adaptive_rag.answer.passages import cite_span
from adaptive_rag.answer.request import NEITHER, AnswerRequest, mean_of_odds
from adaptive_rag.answer.rows import Cell
from adaptive_rag.answer.score import ScoredSentences
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.state import Citation, Outcome, Phrase, Piece
from adaptive_rag.text.markers import respell_markers
from adaptive_rag.text.phrases import join_pieces, say, say_refusal
from adaptive_rag.text.words import terms

# Minimum confidence for an answer, which is then more often right than wrong, and for the closest passages
# (`python -m benchmarks.marked`).
ANSWERED, CLOSE = 0.5, 0.15
# The reader is too doubtful of table rows. Of 970 questions to six organisations of `benchmarks.tables`, the
# quoted rows answered 30 % of the 312 with a confidence from here to .1, and 14 % of the 148 below it.
CLOSE_ROW = 0.02
# From CLOSE on, how likely the best row answers is in its share of the probability of all sentences: the
# log-odds are a constant and a factor (a logistic regression on 1,076 such questions, for most of which ten
# rows were read). The share says nothing if few other rows are read.
ROW_CONSTANT, ROW_SHARE, ROWS_READ = -3.7, 5.3, 5
# Below this cosine, the nearest sentence is about something else and does not help the user.
NEAR = 0.3
# Below this cosine, a refusal quotes no sentence. Of 27 refusals to four strangers, 13 quoted sentences that
# were less near, of which ten had nothing to do with the question.
NEAR_REFUSED = 0.4
# Maximum number of characters of the nearest sentence in a refusal.
LONGEST_QUOTE = 240
# Maximum number of characters of a query in a refusal; queries that include earlier turns are longer.
LONGEST_QUERY = 80
# Maximum number of queries in a refusal.
SHOWN_QUERIES = 4
_INNER_QUOTES = str.maketrans("“”", "‘’")


@dataclass(frozen=True)
class Evidence:
    """The confidence that the quoted sentences answer the question, and the outcome."""

    confidence: float | None  # 0 to 1; None where the passages could not be judged
    outcome: Outcome
    reason: Phrase
    missing: str = ""  # what the question names and no document does


def judge_evidence(request: AnswerRequest) -> Evidence:
    """Judge whether the passages answer the question."""
    scored = request.scored
    if not any(sentence.quality > 0 for sentence in scored.sentences):
        return Evidence(0.0, "refusal", say("nothing_readable"))
    if scored.missing:
        reason = say("name_missing", name=respell_markers(scored.missing))
        return Evidence(request.answered, "refusal", reason, scored.missing)
    if (answered := rate_passages(request)) is None:
        near = max(float(sentence.vector @ request.question_vector) for sentence in scored.sentences)
        outcome: Outcome = "closest" if near >= NEAR and terms(request.question_for_reader) else "refusal"
        code = "not_judged" if scored.answered is None else "no_word_read"
        return Evidence(None, outcome, say(code, near=round(near, 2)))
    quoted = [sentence for block in request.blocks for sentence in block.sentences]
    close = CLOSE_ROW if quoted and all(sentence.cells for sentence in quoted) else CLOSE
    confidence = _rate_quotes(request, quoted, answered)
    # No single sentence answers a question for views, so a lower confidence is enough if one takes a side, or
    # if the person whose view is asked for speaks of the subject.
    own_words = request.own_words
    own = None if own_words is None else own_words.on_subject and bool(own_words.mask.any())
    takes_side = request.style.views and (request.clear_sides != NEITHER).any()
    needed = CLOSE if own or takes_side else ANSWERED
    outcome = "answer" if confidence >= needed else "closest" if confidence >= close else "refusal"
    if own is False and answered >= ANSWERED:
        return Evidence(min(confidence, ANSWERED), "closest", say("says_nothing"))
    if own and outcome == "refusal":
        return Evidence(confidence, "closest", say("says_something"))
    code, limit = ("likely_answer", needed) if outcome == "answer" else ("likely_closest", close)
    return Evidence(confidence, outcome, say(code, sure=round(float(confidence), 2), limit=limit))


def rate_passages(request: AnswerRequest) -> float | None:
    """Return the probability that a sentence of the passages answers; None if it cannot be judged."""
    return request.answered if _shares_a_word(request) else None


def _rate_quotes(request: AnswerRequest, quoted: Sequence[AnswerSentence], answered: float) -> float:
    """Return the confidence that the sentences which an answer would quote do answer.

    The probability that any sentence of the passages answers is too high where the wrong one is quoted, and
    that of the quoted ones is too low where others say the same. The mean of their log-odds, in which the
    quoted ones count twice, is calibrated (`python -m benchmarks.marked`), but not for table rows.
    """
    scores = {
        (sentence.document, sentence.end): float(score)
        for sentence, score in zip(request.scored.sentences, request.scored.scores, strict=True)
    }
    if not quoted:
        return answered  # what is missing is said instead
    places = {(sentence.document, sentence.end) for sentence in quoted}
    probability = min(1.0, sum(max(0.0, scores.get(place, 0.0)) for place in places))
    rating = mean_of_odds([answered, probability, probability])
    if answered >= CLOSE and all(sentence.cells for sentence in quoted):
        return _rate_rows(request.scored, quoted, rating)
    return rating


def _rate_rows(scored: ScoredSentences, quoted: Sequence[AnswerSentence], rating: float) -> float:
    """Return the confidence that quoted table rows answer, which `rating` is as for other sentences."""
    rows = defaultdict[tuple[Cell, ...], float](float)  # the same row may stand in two documents
    for sentence, score in zip(scored.sentences, scored.scores, strict=True):
        rows[sentence.cells] += max(0.0, float(score))
    quoted_rows, total = {sentence.cells for sentence in quoted}, sum(rows.values())
    if sum(map(bool, rows)) < ROWS_READ or not total:
        return rating
    share = max(rows[cells] for cells in quoted_rows) / total
    of_best = 1 / (1 + math.exp(-ROW_CONSTANT - ROW_SHARE * share))
    return of_best if len(quoted_rows) == 1 else max(of_best, rating)


def _shares_a_word(request: AnswerRequest) -> bool:
    """Return whether the passages share a content word with the question; "|" and "why" have none.

    The reader was trained on real questions, and is overconfident on all other input.
    """
    question_terms = set(terms(request.question_for_reader))
    read = (f"{document['text']} {document['section'] or ''}" for document in request.documents)
    return any(not question_terms.isdisjoint(terms(text)) for text in read)


def nearest_quote(request: AnswerRequest) -> tuple[str, Citation] | None:
    """Return the sentence closest to an answer, and its citation; None where none is near.

    Headings are not quoted: they are near to questions but contain no answer.
    """
    scored = request.scored
    near = [
        (float(score), sentence)
        for score, sentence in zip(scored.scores, scored.sentences, strict=True)
        if sentence.quality > 0 and float(sentence.vector @ request.question_vector) >= NEAR_REFUSED
    ]
    if not near:
        return None
    _, nearest = max(near, key=lambda pair: pair[0])
    passage = request.documents[nearest.document]
    return nearest.text, cite_span(passage, nearest.document + 1, nearest.start, nearest.end)


def say_abstention(
    question: str,
    queries: Sequence[str],
    documents: int | None = None,
    nearest: tuple[str, Citation] | None = None,
    where: str = "",
    missing: str = "",
) -> list[Piece]:
    """Write an abstention: the documents do not hold the answer, what was searched, and the nearest sentence.

    Args:
        question: the question, with its words spelt as in the index.
        queries: the texts that were sent to the index; short ones are shown, without the question itself.
        documents: how many documents were searched, if that is known.
        nearest: the nearest sentence and its citation.
        where: the filter that passages had to match.
        missing: what the question names and no document does.
    """
    question, condition = _on_one_line(question), respell_markers(_on_one_line(where))
    if where and documents == 0:
        return [say_refusal("no_match", condition=condition)]
    refusal = say_refusal("nothing_on", part=respell_markers(missing)) if missing else say_refusal("refused")
    phrases = [refusal]
    added_queries = _list_added_queries(question, queries)
    if documents or added_queries:
        searched = say("some_documents", n=documents) if documents else say("all_documents")
        what = say("one_document") if documents == 1 else searched
        code, values = ("searched_also", {"queries": added_queries}) if added_queries else ("searched", {})
        phrases.append(say(code, what=what, **values))
    if where:
        phrases.append(say("only_where", condition=condition))
    if nearest is not None:
        text, citation = nearest
        quote = textwrap.shorten(keep_own_links(text, None)[0], LONGEST_QUOTE, placeholder=" …")
        quote = respell_markers(quote.translate(_INNER_QUOTES))
        place = {"source": citation["source"], "place": citation["place"]}
        phrases.append(say("nearest", place=place, quote=quote))
    return join_pieces([[phrase] for phrase in phrases], " ")


def _list_added_queries(question: str, queries: Sequence[str]) -> list[Phrase]:
    """Return what the queries add to the question, and how many more there are than SHOWN_QUERIES."""
    added = (_on_one_line(_on_one_line(query).replace(question, "")) for query in queries)
    phrases = [
        say("quoted", text=respell_markers(query.rstrip(".!")))
        for query in dict.fromkeys(added)
        if len(query) <= LONGEST_QUERY and set(terms(query)) - set(terms(question))
    ]
    more = len(phrases) - SHOWN_QUERIES
    return [*phrases[:SHOWN_QUERIES], *([say("more", n=more)] if more > 0 else [])]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())

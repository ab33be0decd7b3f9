"""The order in which chosen sentences are read: the main point, what goes on from it, then the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from adaptive_rag.answer.ranking import NAMED, READABLE, Ranking
from adaptive_rag.answer.relations import asks_for_steps, relation_asked
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.text.vectors import Scores
from adaptive_rag.text.words import terms

# In words: a longer list of steps is not quoted whole.
LONGEST_STEPS = 250
_ASKS = re.compile(r"(?:how|why|what|when|where|who|which)\b", re.IGNORECASE)


def in_document_order(chosen: Sequence[AnswerSentence], lead: AnswerSentence) -> list[AnswerSentence]:
    """Put sentences in reading order: the lead with what leads to it and follows it, then the rest.

    The rest keeps the order of each passage, that of the lead first, the others as they ranked. A sentence
    that refers back to one that is not shown is left out; the lead stays.
    """
    at = next((i for i, sentence in enumerate(chosen) if sentence is lead), 0)
    shown = list(chosen[: at + 1])
    rest = sorted(chosen[at + 1 :], key=lambda s: (s.document != lead.document, s.document, s.position))
    if shown and shown[0].refers_back:
        shown = [s for s in rest if _goes_on(s, shown[0])] + shown
    for sentence in rest:
        if _goes_on(shown[-1], sentence):
            shown.append(sentence)
    for sentence in rest:
        if sentence not in shown and (_goes_on(shown[-1], sentence) or not sentence.refers_back):
            shown.append(sentence)
    return shown


def following(sentences: Sequence[AnswerSentence], lead: int) -> Scores:
    """Return 1 for the sentence at `lead` and what follows it in its paragraph, 0 for the others."""
    first = sentences[lead]
    place = (first.document, first.paragraph)
    return np.array(
        [float((s.document, s.paragraph) == place and s.position >= first.position) for s in sentences]
    )


def under_heading(question: str, sentences: Sequence[AnswerSentence]) -> Scores:
    """Return for each sentence the share of its heading's words that a question has; 0 under a title.

    2 more where the heading asks the same: "How it decides that a page has changed" heads what answers
    "how does it know that a page changed".
    """
    titles = {s.heading for s in sentences if s.start == 0}
    asked, word = set(terms(question)), _ASKS.match(question)
    shares: dict[str, float] = {}
    for heading in {s.heading for s in sentences} - titles:
        words, same = set(terms(heading)), _ASKS.match(heading)
        shares[heading] = len(asked & words) / len(words) if words else 0.0
        if word and same and word[0].lower() == same[0].lower() and shares[heading] >= NAMED:
            shares[heading] += 2
    return np.array([shares.get(s.heading, 0.0) for s in sentences])


def with_steps(
    question: str, ranking: Ranking, chosen: list[AnswerSentence], scores: Scores
) -> list[AnswerSentence]:
    """Return the whole list of steps in the section of the first sentence, where steps are asked for.

    Else, and where that section has no list or a very long one, return the chosen sentences as they are.
    """
    if not chosen or not asks_for_steps(question):
        return chosen
    section = (chosen[0].document, chosen[0].heading)
    lists: list[list[int]] = []
    for i, sentence in enumerate(ranking.sentences):
        if (sentence.document, sentence.heading) != section or sentence.quality < READABLE:
            continue
        before = ranking.sentences[lists[-1][-1]] if lists else None
        if before is None or not _goes_on(before, sentence):
            lists += [[i]] if sentence.listed else []
        elif sentence.listed or sentence.paragraph == before.paragraph:
            # "3. Plug it in. The light turns blue.": what an item goes on with belongs to it.
            lists[-1].append(i)
    whole = max(lists, key=lambda items: float(scores[items].max()), default=[])
    steps = [ranking.sentences[i] for i in whole]
    length = sum(len(sentence.text.split()) for sentence in steps)
    return steps if len(steps) > 1 and length <= LONGEST_STEPS else chosen


def with_rows(
    question: str, ranking: Ranking, chosen: list[AnswerSentence], words: int
) -> list[AnswerSentence]:
    """Return the rows of the first sentence's table before the others, where a comparison leads with a row.

    As many as have `words` words together; else return the chosen sentences as they are.
    """
    if not chosen or not chosen[0].is_row or relation_asked(question) != "difference":
        return chosen
    table = (chosen[0].document, chosen[0].heading)
    rows = [s for s in ranking.sentences if s.is_row and (s.document, s.heading) == table]
    shown = [chosen[0]]
    for sentence in [*rows, *chosen]:
        length = sum(len(s.text.split()) for s in [*shown, sentence])
        if sentence not in shown and length <= words:
            shown.append(sentence)
    return shown


def _goes_on(before: AnswerSentence, sentence: AnswerSentence) -> bool:
    """Tell whether a sentence stands right after another one in its passage."""
    return before.document == sentence.document and before.position == sentence.position - 1

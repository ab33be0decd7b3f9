"""Which sentences hold a view, whose it is, and which side of the question it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adaptive_rag.answer.ranking import Ranking
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import (
    asked_group,
    asked_speakers,
    bare_name,
    message_speaker,
    reported_speaker,
    roles_of,
    speaker_of,
)
from adaptive_rag.models.onnx import load_minilm
from adaptive_rag.rank.agreement import (
    agreements,
    centred,
    declared_side,
    names_all,
    names_matter,
    reported_side,
    weighs_both,
)
from adaptive_rag.rank.stances import Side, reports_view, view_strength
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate
from adaptive_rag.text.vectors import Scores, Vectors, cosines

# What a sentence gains that holds or reports a view, and one that says which side its speaker takes.
VIEW, DECLARED = 0.12, 0.25
# What one of a speaker of the group gains that is asked about ("What do traders think?"), the cosine of the
# group and what somebody is below which nobody is of it, and the one from which on anybody is. In
# benchmarks.typed_questions "traders" and "bookseller" come to 0.36, "parents" and "father of two" to 0.43,
# "parents" and "teacher" to 0.21.
GROUP, OF_GROUP, SURELY_OF_GROUP = 1.0, 0.28, 0.35
# What one of a passage of its own gains, at most, by how relevant the search found it.
PASSAGE = 2.0
# From which strength on a sentence is taken to judge: 78 % of the statements of opinion_perspectrum reach it,
# 4 % of the sentences of SQuAD's passages and 9 % of ShARC's rules.
JUDGES = 0.15
# A document whose nearest sentence reaches less than this share of the nearest of all is on something else.
ON_MATTER = 0.75
# So does a sentence that nobody is said to say, below this share: it is on something else in the document.
NEAR_ENOUGH = 0.5
SIGNS: Mapping[Side, int] = {"for": 1, "against": -1}
# A passage of fewer words without a full stop is a title.
FEWEST_WORDS = 4
# The quality of a passage that is one view without its full stop ("Sea walls ruin the beach").
UNPOINTED = 0.7
_DATE = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)\b"
)
# "I am for option B", "I'm against it", "We recommend a wall"; not "I asked for a map".
_DECLARES = re.compile(
    r"\b(?:I|we)(?:['’]m| am|['’]re| are)(?: \w+)? (?:for|against|opposed to|in favou?r of)\b|"
    r"\b(?:I|we)(?:['’]d| would| still| do)? (?:support|oppose|recommend|reject|favou?r|"
    r"believe|think|prefer|vote|rather)\b",
    re.IGNORECASE,
)
# "I'm asked whether the wall should be raised", "Record of the debate on the wall" and "The building of the
# houses was disputed." name the matter alone.
_NAMES_MATTER = re.compile(
    r"\b(?:asked|questions?|debates?|discuss\w*|decisions?)\b[^.;:]{0,40}?\b(?:whether|if|on)\b|"
    r"\b(?:town|city|council|county|government|board|committee) proposes to\b|"
    r"\b(?:is|was|were|are) (?:much |hotly |long )?(?:disputed|debated|discussed)\.$",
    re.IGNORECASE,
)


# "I own the café on the corner of Silver Street." says who speaks, and no more.
_INTRODUCES = re.compile(
    r"(?:I|We) (?:have )?(?:own|run|drive|live|teach|taught|work|keep|farm|use|am an?)\b[^,;]*$"
)


@dataclass(frozen=True)
class Views:
    """The sentences of the passages as views; each list and array has one item a sentence."""

    ranking: Ranking
    # who says it, as the text marks it; or else who is said to have said it
    speakers: list[str | None]
    voices: list[str | None]
    # for the question, with what a view gains
    scores: Scores
    # whether it may stand as a view on the matter
    holds: NDArray[np.bool_]
    # 1 for and -1 against where it says so, or its speaker does; else 0
    declared: Scores
    # whether its tone may tell its side, where nothing is declared
    toned: NDArray[np.bool_]
    # whether it reports both sides
    both: NDArray[np.bool_]
    # whether its speaker is of the group that is asked about
    of_group: NDArray[np.bool_]
    # whether every passage is one statement
    statements: bool


def read_views(
    question: str,
    vector: Vectors,
    documents: Sequence[Candidate],
    found: Sequence[Sentences],
    ranking: Ranking,
) -> Views:
    """Read who says each sentence, whether it is a view, and which side its speaker declares for.

    Args:
        question: as it is asked.
        vector: of the question; shape (dimension,).
        documents: the passages.
        found: their sentences.
        ranking: of the sentences that may be quoted.
    """
    ranking = with_short_views(ranking, documents)
    speakers = [
        message_speaker(s.text) if s.alone else speaker_of(documents[s.document], s.start, s.text)
        for s in ranking.sentences
    ]
    voices = [name or reported_speaker(s.text) for name, s in zip(speakers, ranking.sentences, strict=True)]
    both = np.array([weighs_both(s.text) for s in ranking.sentences])
    own = np.where(both, 0.0, _declared_signs(question, ranking.sentences))
    both |= _beside_other_side(ranking.sentences)
    declared = np.where(own, own, _spoken_signs(own, voices))
    relevance = ranking.score(question, vector)
    scores = relevance + view_bonus(ranking) + DECLARED * np.abs(own)
    scores += passage_bonus(documents, found, ranking)
    named = np.array([names_matter(question, s.text) for s in ranking.sentences])
    spoken = np.array(
        [name is not None and not s.alone for name, s in zip(speakers, ranking.sentences, strict=True)]
    )
    asked = group_bonus(question, ranking, speakers)
    scores += asked
    argued = (declared != 0) | (named & spoken) | (asked > 0)
    holds = _hold_views(ranking, argued) & _on_matter(ranking, documents, relevance, voices)
    toned = _tell_by_tone(ranking, voices, named)
    statements = all(s.position == 0 for s in ranking.sentences)
    return Views(
        ranking, speakers, voices, scores, holds, declared, toned, both & holds, asked > 0, statements
    )


def attested(
    question: str, documents: Sequence[Candidate], sentences: Sequence[AnswerSentence]
) -> str | None:
    """Return why what is said answers a question for views, however little it resembles it; None if nothing.

    Somebody whom the question names speaks of what it names; or somebody takes a side, in a passage that
    names all that is asked about.
    """
    for s in sentences:
        speaker = message_speaker(s.text) if s.alone else speaker_of(documents[s.document], s.start, s.text)
        speaker = speaker or reported_speaker(s.text)
        if speaker and asked_speakers(question, [speaker]):
            matter = " ".join(word for word in re.findall(r"\w+", question) if word not in speaker)
            if names_matter(matter, s.text):
                return f"{bare_name(speaker)} speaks of it"
        if declared_side(question, s.text) and names_all(question, documents[s.document]["text"]):
            return "somebody takes a side on it"
    return None


def passage_bonus(documents: Sequence[Candidate], found: Sequence[Sentences], ranking: Ranking) -> Scores:
    """Return what each sentence gains from its passage's relevance; shape (sentences,).

    It counts by the share of passages of one sentence: the search has weighed such a passage against all
    others of its matter, and its words alone say less.
    """
    alone = float(np.mean([len(held.spans) == 1 for held in found]))
    scores = [document["scores"] for document in documents]
    relevance = np.array([own.get("relevance", own.get("fused", 0.0)) for own in scores])
    share = relevance / max(float(relevance.max()), 1e-9)
    return np.asarray(PASSAGE * alone * share[[s.document for s in ranking.sentences]], dtype=np.float64)


def group_bonus(question: str, ranking: Ranking, speakers: Sequence[str | None]) -> Scores:
    """Return what sentences gain whose speaker is of the group that is asked about; shape (sentences,).

    "What do parents think?" asks a "father of two" by the cosine of the two texts.
    """
    bonus = np.zeros(len(speakers))
    group = asked_group(question)
    roles: dict[str, list[str]] = {}
    for name, s in zip(speakers, ranking.sentences, strict=True):
        if name and group:
            roles.setdefault(bare_name(name), []).extend(roles_of(name, s.text))
    roles = {name: list(dict.fromkeys(told)) for name, told in roles.items() if told}
    if not group or not roles:
        return bonus
    vectors = load_minilm().encode([group, *map("; ".join, roles.values())])
    alike = dict(zip(roles, cosines(vectors[1:], vectors[:1])[:, 0].tolist(), strict=True))
    best = max(alike.values())
    if best < OF_GROUP:
        return bonus
    least = min(SURELY_OF_GROUP, 0.7 * best)
    near = [alike.get(bare_name(name), 0.0) if name else 0.0 for name in speakers]
    return np.array([GROUP * (one >= least) for one in near])


def view_bonus(ranking: Ranking) -> Scores:
    """Return what each sentence gains where it holds or reports a view; shape (sentences,)."""
    strengths = view_strength(ranking.vectors)
    views = [is_view(s.text, strength) for s, strength in zip(ranking.sentences, strengths, strict=True)]
    declared = [bool(_DECLARES.search(s.text)) for s in ranking.sentences]
    return VIEW * np.array(views) + DECLARED * np.array(declared)


def is_view(text: str, strength: float) -> bool:
    """Tell whether a sentence reports a view, or judges by its `view_strength`."""
    return strength >= JUDGES or reports_view(text)


def states_view(text: str, strength: float, *, alone: bool) -> bool:
    """Tell whether a sentence may stand as a view, and not what happened, what the matter is or a title.

    Args:
        text: the sentence.
        strength: of `view_strength`.
        alone: whether it is a passage of its own, or what somebody says who argues: a plain fact is a reason
            there.
    """
    if len(text.split()) < FEWEST_WORDS or _NAMES_MATTER.search(text) or _INTRODUCES.match(text):
        return False
    return is_view(text, strength) or (alone and not _DATE.search(text))


def with_short_views(ranking: Ranking, documents: Sequence[Candidate]) -> Ranking:
    """Return the ranking, where a passage that is one view without its full stop reads as a sentence."""
    short = [_is_short_view(s, documents[s.document]) for s in ranking.sentences]
    if not any(short):
        return ranking
    return Ranking(
        [
            replace(s, text=f"{s.text}.", quality=max(s.quality, UNPOINTED)) if is_short else s
            for s, is_short in zip(ranking.sentences, short, strict=True)
        ]
    )


def agreement(
    question: str, documents: Sequence[Candidate], found: Sequence[Sentences], ranking: Ranking
) -> Scores:
    """Return how far each sentence speaks for what the question proposes, or against it; shape (sentences,).

    It counts from the middle between the sides of the passages that were read.
    """
    held = centred(agreements(question, documents, found))
    return np.array([held[s.document][s.position] for s in ranking.sentences])


def _declared_signs(question: str, sentences: Sequence[AnswerSentence]) -> Scores:
    """Return 1 or -1 where a sentence says which side somebody takes, 0 elsewhere; shape (sentences,)."""
    sides = (declared_side(question, s.text) for s in sentences)
    return np.array([SIGNS[side] if side else 0 for side in sides], dtype=np.float64)


def _spoken_signs(own: Scores, voices: Sequence[str | None]) -> Scores:
    """Return 1 or -1 where the speaker of a sentence takes that side anywhere; shape (sentences,).

    Args:
        own: what `_declared_signs` returns. A speaker who says both takes none.
        voices: who says each sentence.
    """
    said: dict[str, set[float]] = {}
    for name, sign in zip(voices, own.tolist(), strict=True):
        if name and sign:
            said.setdefault(bare_name(name), set()).add(sign)
    stands = {name: signs.pop() for name, signs in said.items() if len(signs) == 1}
    return np.array([stands.get(bare_name(name), 0.0) if name else 0.0 for name in voices])


def _beside_other_side(sentences: Sequence[AnswerSentence]) -> NDArray[np.bool_]:
    """Tell which sentences report one side, beside one that reports the other; shape (sentences,)."""
    sides = {(s.document, s.position): reported_side(s.text) for s in sentences}
    beside = [
        {sides[s.document, s.position], sides.get((s.document, s.position + step))} == {"for", "against"}
        for step in (-1, 1)
        for s in sentences
    ]
    return np.asarray(np.array(beside).reshape(2, -1).any(axis=0), dtype=np.bool_)


def _tell_by_tone(
    ranking: Ranking, voices: Sequence[str | None], named: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell of which sentences the tone may tell the side.

    In a speech it goes up and down: "I worry that ..." and "a fine idea for chains" are of one speaker. And
    what does not name the matter praises or blames something else.
    """
    statements = _alone(ranking)
    alone = np.array([s.document in statements for s in ranking.sentences])
    return np.asarray(alone | (named & np.array([name is None for name in voices])))


def _hold_views(ranking: Ranking, argued: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which sentences may stand as views; what somebody says who takes a side is an argument."""
    statements = _alone(ranking)
    strengths = view_strength(ranking.vectors)
    return np.array(
        [
            states_view(s.text, strength, alone=bool(argues) or s.document in statements)
            for s, strength, argues in zip(ranking.sentences, strengths, argued, strict=True)
        ]
    )


def _on_matter(
    ranking: Ranking, documents: Sequence[Candidate], relevance: Scores, voices: Sequence[str | None]
) -> NDArray[np.bool_]:
    """Tell which sentences stand in a document on the matter, by its sentence nearest to the question.

    What nobody is said to say, and a message of a chat, has to come near to the question itself.
    """
    statements = _alone(ranking)
    sources = [documents[s.document]["source"] for s in ranking.sentences]
    nearest: dict[str, float] = {}
    for source, score in zip(sources, relevance.tolist(), strict=True):
        nearest[source] = max(score, nearest.get(source, 0.0))
    best = max(nearest.values())
    return np.array(
        [
            s.document in statements
            or (
                nearest[source] >= ON_MATTER * best
                and ((voice is not None and not s.alone) or near >= NEAR_ENOUGH * best)
            )
            for s, source, voice, near in zip(
                ranking.sentences, sources, voices, relevance.tolist(), strict=True
            )
        ]
    )


def _alone(ranking: Ranking) -> set[int]:
    """Return the passages that are one statement each, where at least half of all are."""
    passages = {s.document for s in ranking.sentences}
    single = passages - {s.document for s in ranking.sentences if s.position > 0}
    return single if 2 * len(single) >= len(passages) else set()


def _is_short_view(sentence: AnswerSentence, document: Candidate) -> bool:
    """Tell whether a passage is one sentence that lacks its full stop, and no title."""
    text = sentence.text
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    capitals = sum(word[0].isupper() for word in words)
    return (
        text == document["text"].strip()
        and len(text.split()) >= FEWEST_WORDS
        and text[-1].isalnum()
        and capitals <= len(words) / 2
    )

"""The sentences as views: whose each is, whether it may stand as a view, and which side it takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from adaptive_rag.answer.contributions import Contributions
from adaptive_rag.answer.passages import chunk_section, title_terms
from adaptive_rag.answer.ranking import Flags, Ranking
from adaptive_rag.answer.request import AnswerRequest
from adaptive_rag.answer.sentences import AnswerSentence
from adaptive_rag.answer.speakers import (
    asked_group,
    asked_speakers,
    bare_name,
    message_speaker,
    reported_speaker,
    reports_of,
    roles_of,
    without_group,
)
from adaptive_rag.answer.statements import (
    find_judging,
    find_on_matter,
    find_statements,
    may_stand,
    with_short_views,
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
from adaptive_rag.rank.stances import Side, misplaced, reports_view
from adaptive_rag.text.vectors import Scores, cosines

# What a sentence gains that holds or reports a view, and one that says which side its speaker takes; what it
# loses under the heading of another side.
VIEW, DECLARED = 0.12, 0.25
# The cosine of the group that a question asks about and what somebody is, from which on they are of it,
# and the one that somebody has to reach. In benchmarks.typed_questions "traders" and "bookseller" come to
# 0.36, "parents" and "father of two" to 0.43, "parents" and "teacher" to 0.21.
OF_GROUP, SURELY = 0.31, 0.4
# What one of a passage of its own gains, at most, by how relevant the search found it.
PASSAGE = 2.0
# Messages of a chat after a question that may reply to it.
REPLIES = 4
SIGNS: Mapping[Side, int] = {"for": 1, "against": -1}
# "I am for option B", "I'm against it", "We recommend a wall"; not "I asked for a map".
_DECLARES = re.compile(
    r"\b(?:I|we)(?:['’]m| am|['’]re| are)(?: \w+)? (?:for|against|opposed to|in favou?r of)\b|"
    r"\b(?:I|we)(?:['’]d| would| still| do)? (?:support|oppose|recommend|reject|favou?r|"
    r"believe|think|prefer|vote|rather)\b",
    re.IGNORECASE,
)


# "Leila (13:31): “marketing says yes”": what is not timed is a turn of an interview, with its question.
_TIMED = re.compile(r"\(\d{1,2}[:.]\d\d[^()]*\): “")


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
    holds: Flags
    # whether it is a statement, or its words, its speaker's or its headings name the matter
    about: Flags
    # 1 for and -1 against where it says so, or its speaker does; else 0
    declared: Scores
    # whether it stands in a review with a good or a bad rating of what is asked about
    rated: Flags
    # whether its tone may tell its side, where nothing is declared
    toned: Flags
    # whether it reports both sides
    both: Flags
    # whether its speaker is of the group that is asked about
    of_group: Flags
    # whether every passage is one statement
    statements: bool


def read_views(request: AnswerRequest, ranking: Ranking) -> Views:
    """Read who says each sentence, whether it is a view, and which side its speaker declares for.

    Args:
        request: the question and its passages.
        ranking: of the sentences that may be quoted.
    """
    question = without_group(request.question)
    ranking = with_short_views(ranking, request.documents)
    sentences = ranking.sentences
    relevance = _with_questions(ranking, ranking.score(question, request.question_vector))
    alone = find_statements(ranking)
    within, near = find_on_matter(ranking, request.documents, relevance)
    read = (alone | within).tolist()  # what stands in documents on something else is never quoted

    def each(tells: Callable[[str], object]) -> Flags:
        return np.array([one and bool(tells(s.text)) for s, one in zip(sentences, read, strict=True)])

    speakers = [speaker_of(s, request.contributions) for s in sentences]
    voices = [
        name or (reported_speaker(s.text) if one else None)
        for name, s, one in zip(speakers, sentences, read, strict=True)
    ]
    judging = find_judging(ranking, read)
    both = each(weighs_both)
    own = np.where(both, 0.0, _declared_signs(question, sentences, read))
    both |= _beside_other_side(sentences, read)
    declared = np.where(own, own, _spoken_signs(own, voices))
    # Who gives five stars is for what the reviews are of, whatever they say.
    sources = [request.documents[s.document]["source"] for s in sentences]
    reviewed = request.documents[0]["source"]
    rated = np.array(
        [
            request.contributions[s.document].rating_at(s.start) if source == reviewed else 0
            for s, source in zip(sentences, sources, strict=True)
        ]
    )
    declared = np.where(declared, declared, rated)
    named = each(partial(names_matter, question))
    marked, known = (np.array([name is not None for name in names]) for names in (speakers, voices))
    turned = np.array([s.alone for s in sentences])
    asked = of_group(request.question, ranking, speakers)
    on_matter = alone | near | (within & known & ~turned)
    # A review speaks of much: what counts is what names the matter, where anything does.
    rows = np.array([request.contributions[s.document].of_row for s in sentences])
    if (rows & named).any():
        on_matter &= named | ~rows
    # What somebody says on the matter is a view or a reason, however plain.
    plain = alone | (declared != 0) | (marked & near & ~turned) | (asked & within)
    holds = on_matter & [
        bool(one) and may_stand(s.text, judges=bool(judges), alone=bool(told))
        for s, one, judges, told in zip(sentences, on_matter, judging, plain, strict=True)
    ]
    holds &= both | ~_frames(sentences, sources, speakers, voices)
    about = alone | _about_matter(question, request, sentences, voices, named)
    if (holds & about).any():
        holds &= about
    return Views(
        ranking=ranking,
        speakers=speakers,
        voices=voices,
        scores=relevance
        + VIEW * judging
        + DECLARED * (each(_DECLARES.search) + np.abs(own))
        + passage_bonus(request, ranking)
        - DECLARED * _misplaced(rated, sentences),
        holds=holds,
        about=about,
        declared=declared,
        rated=rated != 0,
        # In a speech the tone goes up and down: "I worry that ..." and "a fine idea for chains" are of one
        # speaker. And what does not name the matter praises or blames something else.
        toned=alone | (named & ~known),
        both=both & holds,
        of_group=asked,
        statements=all(s.position == 0 for s in sentences),
    )


def _with_questions(ranking: Ranking, relevance: Scores) -> Scores:
    """Return the relevance of the sentences, where a message of a chat may reply to a question before it.

    "not keen, it lags" is understood through "do we want to move the import?": it is no less relevant than
    the mean of both.
    """
    found = relevance.copy()
    asked: dict[int, tuple[int, float]] = {}
    for i, s in enumerate(ranking.sentences):
        if not (s.speaker and _TIMED.search(s.text)):
            continue
        number, score = asked.get(s.document, (i, 0.0))
        if i - number <= REPLIES:
            found[i] = max(found[i], (found[i] + score) / 2)
        if "?" in s.text and relevance[i] >= score:
            asked[s.document] = i, float(relevance[i])
    return found


def speaker_of(sentence: AnswerSentence, contributions: Sequence[Contributions]) -> str | None:
    """Return who says a sentence, as the text marks it; None where nothing does."""
    if sentence.alone:
        return message_speaker(sentence.text)
    return contributions[sentence.document].speaker_at(sentence.start, sentence.text)


def attested(request: AnswerRequest, sentences: Sequence[AnswerSentence]) -> str | None:
    """Return why what is said answers a question for views, however little it resembles it.

    None where nothing does. Somebody whom the question names speaks of what it names; or somebody takes a
    side, or gives their name, in a passage that names all that is asked about, with its headings and the name
    of its file.
    """
    question = request.question
    for s in sentences:
        document = request.documents[s.document]
        marked = speaker_of(s, request.contributions)
        speaker = marked or reported_speaker(s.text)
        if speaker and asked_speakers(question, [speaker]):
            matter = " ".join(word for word in re.findall(r"\w+", question) if word not in speaker)
            if names_matter(matter, s.text):
                return f"{bare_name(speaker)} speaks of it"
        if declared_side(question, s.text) and names_all(question, document["text"]):
            return "somebody takes a side on it"
        about = f"{re.sub('[_-]', ' ', document['source'])} {document['section'] or ''} {document['text']}"
        if marked and names_all(without_group(question), about):
            return f"{bare_name(marked)} speaks where it is named"
    return None


def view_bonus(ranking: Ranking) -> Scores:
    """Return what each sentence gains where it holds or reports a view; shape (sentences,)."""
    declares = np.array([bool(_DECLARES.search(s.text)) for s in ranking.sentences])
    return np.asarray(VIEW * find_judging(ranking) + DECLARED * declares)


def passage_bonus(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return what each sentence gains from its passage's relevance; shape (sentences,).

    It counts by the share of passages of one sentence: the search has weighed such a passage against all
    others of its matter, and its words alone say less.
    """
    alone = float(np.mean([len(held.spans) == 1 for held in request.sentences]))
    scores = [document["scores"] for document in request.documents]
    relevance = np.array([own.get("relevance", own.get("fused", 0.0)) for own in scores])
    share = relevance / max(float(relevance.max()), 1e-9)
    return np.asarray(PASSAGE * alone * share[[s.document for s in ranking.sentences]], dtype=np.float64)


def of_group(question: str, ranking: Ranking, speakers: Sequence[str | None]) -> Flags:
    """Tell which sentences' speakers are of the group that is asked about; shape (sentences,).

    "What do parents think?" asks a "father of two" by the cosine of the two texts. "What does the bus driver
    think?" asks who comes nearest.
    """
    group = asked_group(question)
    if not group:
        return np.zeros(len(speakers), dtype=np.bool_)
    told = np.array([reports_of(group, s.text) for s in ranking.sentences])
    roles: dict[str, list[str]] = {}
    for name, s in zip(speakers, ranking.sentences, strict=True):
        if name:
            roles.setdefault(bare_name(name), []).extend(roles_of(name, s.text))
    roles = {name: list(dict.fromkeys(told)) for name, told in roles.items() if told}
    if not roles:
        return told
    vectors = load_minilm().encode([group, *map("; ".join, roles.values())])
    alike = dict(zip(roles, cosines(vectors[1:], vectors[:1])[:, 0].tolist(), strict=True))
    best = max(alike.values())
    least = np.inf if best < SURELY else OF_GROUP if group.endswith("s") else best
    near = [name is not None and alike.get(bare_name(name), 0.0) >= least for name in speakers]
    return np.asarray(told | near)


def agreement(request: AnswerRequest, ranking: Ranking) -> Scores:
    """Return how far each sentence speaks for what the question proposes, or against it; shape (sentences,).

    It counts from the middle between the sides of the passages that were read.
    """
    held = centred(agreements(request.question, request.documents, request.sentences))
    return np.array([held[s.document][s.position] for s in ranking.sentences])


def _frames(
    sentences: Sequence[AnswerSentence],
    sources: Sequence[str],
    speakers: Sequence[str | None],
    voices: Sequence[str | None],
) -> Flags:
    """Tell which sentences nobody says and are no views, where several people speak; shape (sentences,).

    "Each speaker had five minutes." stands around what they say. Another document may report a view.
    """
    spoken: dict[str, set[str]] = {}
    for source, name in zip(sources, speakers, strict=True):
        spoken.setdefault(source, set()).update({name} if name else ())
    debates = {source for source, names in spoken.items() if len(names) > 1}
    return np.array(
        [
            bool(debates) and voice is None and (source in debates or not reports_view(s.text))
            for s, source, voice in zip(sentences, sources, voices, strict=True)
        ]
    )


def _about_matter(
    question: str,
    request: AnswerRequest,
    sentences: Sequence[AnswerSentence],
    voices: Sequence[str | None],
    named: Flags,
) -> Flags:
    """Tell of which sentences the speaker, or else the section, names the matter; shape (sentences,).

    A heading names it for all under it, and so does half of a document for the rest: "I am against it."
    """
    places = []
    naming = set()
    for s, voice, names in zip(sentences, voices, named, strict=True):
        passage = request.documents[s.document]
        places.append((passage["source"], bare_name(voice) if voice else s.heading))
        title = title_terms(passage, chunk_section(passage, s.start, s.end))
        if names or names_matter(question, " ".join(title)):
            naming.add(places[-1])
    of_source = Counter(source for source, _ in set(places))
    named_in = Counter(source for source, _ in naming)
    return np.array([place in naming or 2 * named_in[place[0]] >= of_source[place[0]] for place in places])


def _declared_signs(question: str, sentences: Sequence[AnswerSentence], read: Sequence[bool]) -> Scores:
    """Return 1 or -1 where a sentence says which side somebody takes, 0 elsewhere; shape (sentences,)."""
    sides = (declared_side(question, s.text) if one else None for s, one in zip(sentences, read, strict=True))
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


def _misplaced(rated: Scores, sentences: Sequence[AnswerSentence]) -> Scores:
    """Return how wrong each sentence looks beside the rating of its review, 0 to 1; shape (sentences,)."""
    sides: Mapping[float, Side] = {1.0: "for", -1.0: "against"}
    return np.array(
        [misplaced(sides[sign], s.text) if sign else 0.0 for sign, s in zip(rated, sentences, strict=True)]
    )


def _beside_other_side(sentences: Sequence[AnswerSentence], read: Sequence[bool]) -> Flags:
    """Tell which sentences report one side, beside one that reports the other; shape (sentences,)."""
    sides = {
        (s.document, s.position): reported_side(s.text) if one else None
        for s, one in zip(sentences, read, strict=True)
    }
    beside = [
        {sides[s.document, s.position], sides.get((s.document, s.position + step))} == {"for", "against"}
        for step in (-1, 1)
        for s in sentences
    ]
    return np.asarray(np.array(beside).reshape(2, -1).any(axis=0), dtype=np.bool_)

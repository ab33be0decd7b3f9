"""Measures how far passages agree with a question's proposal, by words and vectors, without a chat model.

A sentence praises or blames something; the proposal decides which of the two supports it. "Cars kill"
speaks for "Should cars be banned?" and against "Should cars be allowed?".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from adaptive_rag.query.viewpoints import topic_of
from adaptive_rag.rank.stances import CUES, Side, any_of, asked_side
from adaptive_rag.source import Sentences
from adaptive_rag.state import Candidate, Decision
from adaptive_rag.text.vectors import Scores, Vectors, cosines

# Made by training/sentiment.py for the embedded model, which makes all sentence vectors.
SENTIMENT = Path(__file__).with_name("sentiment.npy")
# All constants here were chosen on half of the questions of opinion_perspectrum; the figures for the other
# half are in docs/retrieval-experiments.md.
# The most that words of praise and blame add to the cosine.
CUES_WEIGHT = 0.03
# The tone of a sentence about a ban that neither praises nor blames it, measured by training/sentiment.py.
BAN_TONE = -0.12
# UNSURE: mean agreement below which the side of a passage is unclear. CLEAR: agreement from which a single
# sentence of the other side makes a passage take both sides.
UNSURE, CLEAR = 0.05, 0.08
# Conditions for calling a side missing: minimum number of passages, their minimum mean agreement, and the
# maximum share of all agreement that may speak for the missing side.
MIN_PASSAGES, ONE_SIDED, OTHERS_SHARE = 3, 0.14, 0.1

# A sentence that praises a ban blames what is banned.
_BAN_WORDS = any_of(
    r"ban(?:s|ned|ning)?|abolish\w*|abolition|prohibit\w*|outlaw\w*|criminali[sz]\w*|restrict\w*|censor\w*|"
    r"disband\w*"
)
# Words of a proposal to end or reduce its subject: "Should the ferry be scrapped?", but not "before leaving
# school".
_ENDING_WORDS = any_of(
    r"(?<!before )(?<!after )(?<!without )(?<!by )(?<!when )(?<!while )"
    r"(?:ban(?:ned|ning)?|abolish\w*|abolition|prohibit\w*|outlaw\w*|forbid\w*|criminali[sz]\w*|illegal|"
    r"restrict\w*|limit(?:s|ed|ing)?|curb\w*|censor\w*|disband\w*|dissolv\w*|dismantl\w*|scrap(?:ped|ping)?|"
    r"abandon\w*|eliminat\w*|eradicat\w*|repeal\w*|revok\w*|clos(?:e|ed|ing|ure)|shut(?:ting)?|"
    r"end(?:ed|ing)?|stop(?:ped|ping)?|halt(?:ed|ing)?|cease|withdraw\w*|leav(?:e|ing)|quit(?:ting)?|"
    r"boycott\w*|block(?:ed|ing)?|phas\w+ out|get(?:ting)? rid of|do(?:ing)? away with|capped|reject\w*|"
    r"oppos\w*)"
)
# Words of a question that blames its subject: "Is it unfair?"
_BLAME_WORDS = any_of(
    r"unjust\w*|unfair\w*|wrong|bad|worse|worst|outdated|obsolete|unnecessary|useless|pointless|"
    r"harm(?:s|ful|ing)?|hurt(?:s|ing)?|danger(?:s|ous)?|unsafe|unhealthy|threats?|threaten\w*|biased|racist|"
    r"sexist|cruel|immoral|unethical|selfish|evil|corrupt|fail(?:s|ed|ure|ing)?|kill(?:s|ing|ed)?|"
    r"ruin(?:s|ed|ing)?|destroy\w*|damag\w*|over(?:priced|rated|used)|"
    r"too (?:much|many|high|low|far|expensive|powerful|soft|lenient|long|late|easy|big)|mistake|waste|crisis|"
    r"addict\w*|myth|dead|broken|lost|undemocratic|unconstitutional|(?:are|is|be) (?:you )?against"
)
# How a sentence refers to a plan to end something.
_PLAN = any_of("(?:the|this|such a) (?:plan|proposal|scheme)")
# Minimum number of first letters that two forms of a word share: "closed" and "closure".
STEM = 4

# "Is it good or bad?" proposes the first.
_EITHER_WAY = re.compile(
    r"\b(\w+) or (?:an? )?(?:bad|worse|wrong|harmful|unfair|unsafe|dangerous|curse|mistake)\b", re.I
)
_WORD = re.compile(r"\w+")
_DENIAL = re.compile(r"(?<!or )\b(?:not|never|no)\b(?! only)|n['’]t\b", re.IGNORECASE)
_DUTY = any_of("should|must|ought")
_OPEN_QUESTION = re.compile(r"\W*(?:what|which|who|why|how|where|when)\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def proposal_sign(question: str) -> int:
    """Return 1 if praise supports the question's proposal, -1 if blame does.

    Words that end something, negations and blame reverse the sign: "Should smoking not be illegal?" is 1
    again. Blame counts only in questions without "should", and not in "What are the dangers?".
    """
    topic = _EITHER_WAY.sub(r"\1", topic_of(question))
    blames = bool(_BLAME_WORDS.search(topic)) and not (
        _DUTY.search(topic) or _OPEN_QUESTION.match(topic) or asked_side(topic)
    )
    is_reversed = bool(_ENDING_WORDS.search(topic) or blames) != bool(_DENIAL.search(topic))
    return -1 if is_reversed else 1


def agreements(
    question: str, candidates: Sequence[Candidate], sentences: Sequence[Sentences]
) -> list[Scores]:
    """Return how far each candidate's sentences speak for the proposal (above 0) or against it (below 0).

    The result has one array of shape (sentences,) for each candidate.
    """
    sign = proposal_sign(question)
    ending_words = _ENDING_WORDS.findall(topic_of(question)) if sign < 0 else []
    ending = {word.lower()[:STEM] for word in ending_words}
    return [
        sign * tones(candidate, own, ending) for candidate, own in zip(candidates, sentences, strict=True)
    ]


def tones(candidate: Candidate, sentences: Sentences, ending: Collection[str] = ()) -> Scores:
    """Return the tone of each sentence: above 0 for praise, below 0 for blame; shape (sentences,).

    It is the cosine with the direction from blame to praise, plus a little for its words of praise or blame.
    For a sentence about a ban, this is subtracted from BAN_TONE: "Banning cars saves lives" blames cars. The
    same holds for a plan to end something: `ending` are the first letters of the question's words for it.
    """
    if not len(sentences.spans):
        return np.zeros(0)
    texts = [candidate["text"][start:end] for start, end in sentences.spans - candidate["start"]]
    words = [_WORD.findall(text) for text in texts]
    is_about_ban = np.array([any(_read_word(word)[1] for word in own) for own in words])
    if ending:
        is_about_ban |= [
            bool(_PLAN.search(text)) or any(word[:STEM].lower() in ending for word in own)
            for text, own in zip(texts, words, strict=True)
        ]
    word_tones = np.array([sum(_read_word(word)[0] for word in own) for own in words])
    tone = cosines(sentences.vectors, _sentiment()[None])[:, 0] + CUES_WEIGHT * np.tanh(word_tones)
    return np.asarray(np.where(is_about_ban, BAN_TONE - tone, tone), dtype=np.float64)


# Cached word by word: searching every sentence for all words took five times as long.
@lru_cache(maxsize=50_000)
def _read_word(word: str) -> tuple[int, bool]:
    """Return the tone of a word (1 for praise, -1 for blame, else 0), and whether it refers to a ban."""
    tone = bool(CUES["for"].fullmatch(word)) - bool(CUES["against"].fullmatch(word))
    return tone, bool(_BAN_WORDS.fullmatch(word))


def centred(agreements: Sequence[Scores]) -> list[Scores]:
    """Return agreements relative to the middle between the sides.

    The middle is halfway between 0 and the candidates' mean: on some subjects, every text sounds grim.
    """
    middle = float(np.mean(_means(agreements))) / 2 if agreements else 0.0
    return [agreement - middle for agreement in agreements]


def sides_of(agreement: Scores) -> list[Side]:
    """Return the sides that a passage takes, the main one first, by the centred agreements of its sentences.

    The list is empty if the sides are unclear. A second side needs a sentence that takes it clearly, since
    the tone of every text varies.
    """
    if not agreement.size:
        return []
    mean = float(agreement.mean())
    sides: tuple[Side, Side] = ("for", "against") if mean >= 0 else ("against", "for")
    strongest = {"for": float(agreement.max()), "against": float(-agreement.min())}
    is_sure = abs(mean) >= UNSURE
    return [side for side in sides if (is_sure and side == sides[0]) or strongest[side] >= CLEAR]


def hear_other_side(agreements: Sequence[Scores], k: int) -> list[int]:
    """Return the indices of the first k passages, with the last one replaced if they are one-sided.

    If two or more of them clearly take a side, all the same one, and the next passage clearly takes the
    other side, that passage gets the last place.
    """
    first = list(range(min(k, len(agreements))))
    if k < 2 or len(agreements) <= k:
        return first
    means = _means(centred(agreements))
    clear_sides = np.sign(means[:k])[np.abs(means[:k]) >= CLEAR]
    is_one_sided = len(clear_sides) > 1 and abs(clear_sides.sum()) == len(clear_sides)
    return [*first[:-1], k] if is_one_sided and -clear_sides[0] * means[k] >= CLEAR else first


def missing_side(agreements: Sequence[Scores]) -> Side | None:
    """Return the side that none of the passages takes, by their agreements; None if both may be present.

    It is returned only if the passages agree strongly: calling a side missing when it is present misleads
    more than saying nothing.
    """
    means = _means([agreement for agreement in agreements if agreement.size])
    if len(means) < MIN_PASSAGES or abs(means.mean()) < ONE_SIDED:
        return None
    towards = means * np.sign(means.mean())
    others = float(np.maximum(-towards, 0).sum() / np.abs(towards).sum())
    if others > OTHERS_SHARE:
        return None
    return "against" if means.mean() > 0 else "for"


def taken_sides(agreements: Sequence[Scores]) -> list[list[Side]]:
    """Return the sides that each passage takes, the main one first, by their agreements.

    A passage takes a side if it leans that way by itself and also beside the others: among passages that are
    all against, the least bitter one is not for. If one side is missing, none takes it.
    """
    missing = missing_side(agreements)
    return [
        [side for side in sides_of(relative) if side != missing and side in sides_of(own)]
        for own, relative in zip(agreements, centred(agreements), strict=True)
    ]


def decide_sides(agreements: Sequence[Scores]) -> Decision:
    """Return which sides the passages take and which one is missing, for the trace and the answer."""
    missing, taken = missing_side(agreements), taken_sides(agreements)
    found = sorted({side for sides in taken for side in sides})
    counts = {side: sum(sides[:1] == [side] for sides in taken) for side in ("for", "against")}
    why = f"of {len(agreements)} passages, {counts['for']} speak for it, {counts['against']} against it"
    if missing:
        why += f"; so none speaks {missing}"
    return Decision(what="sides", chosen={"found": found, "missing": missing}, why=why)


def _means(agreements: Sequence[Scores]) -> Scores:
    return np.array([float(agreement.mean()) if agreement.size else 0.0 for agreement in agreements])


@cache
def _sentiment() -> Vectors:
    return np.asarray(np.load(SENTIMENT, allow_pickle=False), dtype=np.float32)

"""Finds what a draft's claim says that its passages do not: runs all checks, and checks denial and scope."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from adaptive_rag.answer.claims import NEAR, CitedSentences, Token, read_tokens, retells, states
from adaptive_rag.answer.exchanges import exchanged_words, other_roles, put_elsewhere
from adaptive_rag.answer.foreign import foreign_numbers, foreign_words
from adaptive_rag.answer.wording import ANTONYMS, DENIALS, HARMLESS, HEDGES, INDIRECT_DENIALS, SCOPES

# Remarks about what the user said themselves need no passage: ", which you say you are not".
_ASKER = re.compile(
    r"[^,:;]*\byou (?:have |had )?(?:say|said|speak|spoke|mention|mentioned|told|wrote|asked)\b[^,:;]*"
)
# In "at all", "at most five" and "the most likely", the second word is not a quantifier.
_NO_SCOPE = {("at", "all"), ("at", "most"), ("the", "most")}
_OPPOSED = {word for pair in ANTONYMS for words in pair for word in words}
# Prefixes that turn a word into its opposite: "unlikely", "illegal".
NEGATING = ("un", "il", "in", "im", "ir", "non", "dis")


def find_fault(text: str, evidence: CitedSentences, is_supported: Callable[[], bool]) -> str:
    """Return what a claim states that its evidence does not; "" where nothing was found.

    Where only its words are not those of the evidence, it may say the same, so `is_supported` is asked.
    """
    claim = read_tokens(_ASKER.sub("", text))
    sentences = evidence.holding(claim)
    return (
        foreign_numbers(claim, evidence)
        or ("" if (words := foreign_words(claim, evidence)) and is_supported() else words)
        or put_elsewhere(claim, evidence)
        or exchanged_words(claim, evidence)
        or _other_polarity(claim, sentences, evidence.sentences)
        or _other_scope(claim, sentences)
        or other_roles(claim, sentences)
    )


def _denials(tokens: Sequence[Token], *, reply: bool = False, of: set[str] | None = None) -> list[list[str]]:
    """Return, for each denial, the keys of the words that it reaches, which follow it in its clause."""
    return [
        [t.key for t in tokens[at + 1 :] if t.clause == token.clause and t.content][:NEAR]
        for at, token in enumerate(tokens)
        # "No, you need none": the first word of a reply answers the question and denies nothing.
        if not (reply and (token.raw in ("No", "Not") or _sets_apart(tokens, at)))
        and (of is None or _subject(tokens, at) <= of)
        and (token.raw.lower() in DENIALS or token.key == "0" or token.raw.lower().endswith("n't"))
    ]


def _subject(tokens: Sequence[Token], at: int) -> set[str]:
    """Return the key of the last content word before a denial in its clause."""
    before = [t.key for t in tokens[:at] if t.clause == tokens[at].clause and states(t)]
    return set(before[-1:])


def _sets_apart(tokens: Sequence[Token], at: int) -> bool:
    """Return whether a denial only makes an exception: "Without it ...", "..., but not on Sundays"."""
    word, before = tokens[at].raw.lower(), tokens[at - 1].raw.lower() if at else ""
    return (word == "without" and not at) or (word == "not" and before == "but")


def _other_polarity(
    claim: Sequence[Token], sentences: Sequence[list[Token]], everywhere: Sequence[list[Token]]
) -> str:
    """Describe where a claim denies what its sentences assert, or the reverse."""
    said = {t.key for t in claim}
    denials = _denials(claim, reply=True)
    # The sentences that the claim retells. A claim in its own words may deny what follows from several
    # sentences.
    whole = [s for s in everywhere if said.issuperset(t.key for t in s if states(t))]
    retold = [*sentences[:1], *(s for s in whole if s not in sentences[:1])]
    sources = retold if retells(claim, sentences) else [*sentences, *(s for s in whole if s not in sentences)]
    # A denial may be expressed indirectly: "is beyond its means" for "does not have the means".
    indirect = INDIRECT_DENIALS - said
    denied = [reach for reach in denials if reach and not HARMLESS.intersection(reach[:2])]
    # Each denial in the claim needs one in the sentences.
    if sum(len(_denials(s)) + sum(t.key in indirect for t in s) for s in sources) < len(denied):
        return f"the passages do not deny {denied[0][0]!r}"
    said -= {key for reach in denials for key in reach}
    for sentence in retold:
        times = [t.key for t in sentence]
        if INDIRECT_DENIALS & said - set(times):
            continue
        reached = [reach for reach in _denials(sentence, of=said) if reach]
        for reach in reached:
            if reach[0] in said and times.count(reach[0]) == 1 and len(denials) < len(reached):
                return f"the passages deny {reach[0]!r}"
    return _opposite(claim, sentences)


def _asserted(tokens: Sequence[Token]) -> dict[str, set[str]]:
    """Return the words of a sentence that no denial reaches, in lower case, with their neighbours' keys."""
    denied = {key for reach in _denials(tokens) for key in reach}
    said = [t for t in tokens if t.content or t.raw.lower() in _OPPOSED]
    return {
        t.raw.lower(): {o.key for o in [*said[max(0, at - 1) : at], *said[at + 1 : at + 2]]}
        for at, t in enumerate(said)
        if t.key not in denied
    }


def _opposite(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    said, all_theirs = _asserted(claim), [_asserted(sentence) for sentence in sentences]
    everywhere = set().union(*all_theirs)
    for one, other in ANTONYMS:
        if (
            said.keys() & one
            and not said.keys() & other
            and _beside(said, all_theirs, one, other)
            and not _beside(said, all_theirs, one, one)
        ):
            return f"it says {min(said.keys() & one)!r} where the passages say {min(everywhere & other)!r}"
    for word in said.keys() | everywhere:
        for pair in ({word, prefix + word} for prefix in NEGATING if len(word) > 3):
            ours, listed = pair & said.keys(), pair & everywhere
            if len(ours) == len(listed) == 1 and ours != listed:
                return f"it says {min(ours)!r} where the passages say {min(listed)!r}"
    return ""


def _beside(
    said: dict[str, set[str]],
    sentences: Sequence[dict[str, set[str]]],
    one: Collection[str],
    other: Collection[str],
) -> bool:
    """Return whether a sentence has a word of `other` beside the same words as the claim has one of `one`."""
    ours = set().union(*(said[w] for w in said.keys() & one))
    return any(ours & theirs[w] for theirs in sentences for w in theirs.keys() & other)


def _other_scope(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Describe a quantifier or a lost hedge by which a claim says more than its sentences."""
    theirs = {t.raw.lower() for s in sentences for t in s}
    for at, token in enumerate(claim):
        if (at and (claim[at - 1].raw.lower(), token.key) in _NO_SCOPE) or _is_emphasis(claim, at):
            continue
        for words, enough in SCOPES:
            if token.raw.lower() in words and not theirs & enough:
                return f"the passages do not say {token.raw.lower()!r}"
    hedged = any(token.raw.lower() in {*HEDGES, "can", "could"} for token in claim)
    return "" if hedged or not retells(claim, sentences) else _lost_hedge(claim, sentences[0])


def _is_emphasis(claim: Sequence[Token], at: int) -> bool:
    """Return whether a scope word needs no support: "only 12 pounds", "it grew most", "most, 12 of 18"."""
    word = claim[at].raw.lower()
    following = [t for t in claim[at + 1 : at + 2] if t.clause == claim[at].clause]
    if word in ("before", "after"):
        return not following or following[0].raw.lower() in ("that", "this")
    if word == "only":
        return any(
            t.number or t.raw.lower() in ("if", "when", "after", "where", "once", "until") for t in following
        )
    numbers = [float(t.key) for t in claim if t.number and t.key.replace(".", "", 1).isdigit()]
    return word == "most" and (not following or any(b < 2 * a < 2 * b for a in numbers for b in numbers))


def _lost_hedge(claim: Sequence[Token], sentence: Sequence[Token]) -> str:
    said = {token.key for token in claim}
    for at, token in enumerate(sentence):
        hedged = [t.key for t in sentence[at + 1 :] if t.content][:1]
        if token.raw.lower() in HEDGES and set(hedged) & said:
            return f"the passages say {token.raw.lower()!r}"
    return ""

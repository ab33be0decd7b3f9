"""Finds what a draft's claim says that its passages do not: runs all checks; denials and scope are here."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from adaptive_rag.answer.claim_additions import foreign_numbers, foreign_words
from adaptive_rag.answer.claim_exchanges import exchanged_words, other_roles, put_elsewhere
from adaptive_rag.answer.claims import NEAR, CitedSentences, Token, read_tokens, retells
from adaptive_rag.answer.word_lists import (
    ANTONYMS,
    HARMLESS,
    HEDGES,
    INDIRECT_DENIALS,
    OBLIGATIONS,
    OPTIONS,
    SCOPES,
    UNITS,
)

# Remarks about what the user said themselves need no passage: ", which you say you are not".
_ABOUT_USER = re.compile(
    r"\byou (?:have |had )?(?:say|said|speak|spoke|mention|mentioned|told|wrote|asked)\b"
)
_REMARK = re.compile(r"[^,:;]++")
# In "at all", "at most five" and "the most likely", the second word is no quantifier.
_NO_SCOPE = {("at", "all"), ("at", "most"), ("the", "most")}
_ANTONYM_WORDS = {word for pair in ANTONYMS for words in pair for word in words}
# Words after "only" that begin a condition
_CONDITIONS = {"if", "when", "after", "where", "once", "until"}
# Words after "only" that say how little something is: "tested only a few"; not "Only a judge may decide"
_DEGREES = {"a", "an", "half", "part"}
# Prefixes that turn a word into its opposite: "unlikely", "illegal".
NEGATING = ("un", "il", "in", "im", "ir", "non", "dis")


def find_fault(text: str, evidence: CitedSentences, is_supported: Callable[[], bool]) -> str:
    """Return what a claim states that its evidence does not; "" where nothing was found.

    A claim in other words than the evidence may say the same, so `is_supported` is asked.
    """
    claim = read_tokens(_REMARK.sub(lambda part: "" if _ABOUT_USER.search(part[0]) else part[0], text))
    sentences = evidence.covering(claim)
    return (
        foreign_numbers(claim, evidence)
        or ("" if (words := foreign_words(claim, evidence)) and is_supported() else words)
        or put_elsewhere(claim, evidence)
        or exchanged_words(claim, evidence)
        or _other_polarity(claim, sentences, evidence.sentences)
        or _other_scope(claim, sentences)
        or other_roles(claim, sentences)
    )


def _denials(tokens: Sequence[Token]) -> dict[int, list[str]]:
    """Return the keys of the words that each denial denies, those after it in its clause, by its index."""
    return {
        i: [t.key for t in tokens[i + 1 :] if t.clause == token.clause and t.is_content][:NEAR]
        for i, token in enumerate(tokens)
        if token.is_denial or token.key == "0"
    }


def _is_about(tokens: Sequence[Token], index: int, keys: set[str]) -> bool:
    """Return whether the last stated word before a denial in its clause, if there is one, is among keys."""
    before = [t.key for t in tokens[:index] if t.clause == tokens[index].clause and t.is_statement]
    return not before or before[-1] in keys


def _is_reply_or_exception(tokens: Sequence[Token], index: int) -> bool:
    """Return whether a denial denies nothing: "No, you need ...", "Without it ...", "but not on Sundays"."""
    token = tokens[index]
    following = tokens[index + 1 : index + 2]
    if token.raw == "Not" or (token.raw == "No" and all(t.clause != token.clause for t in following)):
        return True
    follows_but = index > 0 and tokens[index - 1].word == "but"
    return (token.word == "without" and index == 0) or (token.word == "not" and follows_but)


def _other_polarity(
    claim: Sequence[Token], sentences: Sequence[list[Token]], all_sentences: Sequence[list[Token]]
) -> str:
    """Describe where a claim denies what its sentences assert, or the reverse."""
    claim_keys = {token.key for token in claim}
    denials = [reach for i, reach in _denials(claim).items() if not _is_reply_or_exception(claim, i)]
    # The sentences that the claim retells. A claim in its own words may deny what follows from several
    # sentences.
    contained = [s for s in all_sentences if claim_keys.issuperset(t.key for t in s if t.is_statement)]
    retold = [*sentences[:1], *(s for s in contained if s not in sentences[:1])]
    sources = retold
    if not retells(claim, sentences):
        sources = [*sentences, *(s for s in contained if s not in sentences)]
    # A denial may be expressed indirectly: "is beyond its means" for "does not have the means".
    indirect = INDIRECT_DENIALS - claim_keys
    denied = [reach for reach in denials if reach and not HARMLESS.intersection(reach[:2])]
    # Each denial in the claim needs one in the sentences.
    if sum(len(_denials(s)) + sum(t.key in indirect for t in s) for s in sources) < len(denied):
        return f"the cited passages do not deny {denied[0][0]!r}"
    asserted = claim_keys - {key for reach in denials for key in reach}
    for sentence in retold:
        keys = [token.key for token in sentence]
        if INDIRECT_DENIALS & asserted - set(keys):
            continue
        reached = [
            reach for i, reach in _denials(sentence).items() if reach and _is_about(sentence, i, asserted)
        ]
        for reach in reached:
            if reach[0] in asserted and keys.count(reach[0]) == 1 and len(denials) < len(reached):
                return f"the cited passages deny {reach[0]!r}"
    return _opposite(claim, sentences)


def _asserted_words(tokens: Sequence[Token], before: int = 1) -> dict[str, set[str]]:
    """Return the words of a sentence that are not denied, in lower case, with their neighbours' keys."""
    denied = {key for reach in _denials(tokens).values() for key in reach}
    words = [t for t in tokens if t.is_content or t.word in _ANTONYM_WORDS]
    return {
        token.word: {t.key for t in [*words[max(0, i - before) : i], *words[i + 1 : i + 2]]}
        for i, token in enumerate(words)
        if token.key not in denied
    }


def _opposite(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Describe a word of a claim whose opposite the sentences have: "before" for "after", "unsafe"."""
    claim_words, sentence_words = _asserted_words(claim), [_asserted_words(s) for s in sentences]
    # "1,010 euros in the first year, 1,120 in the second": the neighbours of "second" reach back to "year".
    wide_words = [_asserted_words(s, before=NEAR) for s in sentences]
    all_words = set().union(*sentence_words)
    for one, other in ANTONYMS:
        for word in claim_words.keys() & one if not claim_words.keys() & other else ():
            if _has_neighbours(claim_words[word], sentence_words, other) and not _has_neighbours(
                claim_words[word], wide_words, one
            ):
                return _describe_opposite({word}, all_words & other)
    for word in claim_words.keys() | all_words:
        for pair in ({word, prefix + word} for prefix in NEGATING if len(word) > 3):
            in_claim, in_sentences = pair & claim_words.keys(), pair & all_words
            if len(in_claim) == len(in_sentences) == 1 and in_claim != in_sentences:
                return _describe_opposite(in_claim, in_sentences)
    return ""


def _describe_opposite(in_claim: Collection[str], in_sentences: Collection[str]) -> str:
    return f"it says {min(in_claim)!r} where the cited passages say {min(in_sentences)!r}"


def _has_neighbours(
    neighbours: set[str], sentence_words: Sequence[dict[str, set[str]]], others: Collection[str]
) -> bool:
    """Return whether a sentence has one of the other words beside the same words."""
    return any(neighbours & words[word] for words in sentence_words for word in words.keys() & others)


def _other_scope(claim: Sequence[Token], sentences: Sequence[list[Token]]) -> str:
    """Describe a quantifier or a lost hedge by which a claim says more than its sentences."""
    sentence_words = {token.word for sentence in sentences for token in sentence}
    for i, token in enumerate(claim):
        if (i and (claim[i - 1].word, token.key) in _NO_SCOPE) or _is_emphasis(claim, i):
            continue
        if token.word in OBLIGATIONS and not sentence_words & OPTIONS:
            continue  # "You must tell the shift lead" for "Tell the shift lead"
        for scope_words, sufficient in SCOPES:
            if token.word in scope_words and not sentence_words & sufficient:
                return f"the cited passages do not say {token.word!r}"
    has_hedge = any(token.word in {*HEDGES, "can", "could"} for token in claim)
    return "" if has_hedge or not retells(claim, sentences) else _lost_hedge(claim, sentences[0])


def _is_emphasis(claim: Sequence[Token], index: int) -> bool:
    """Return whether a scope word needs no support: "only 12 pounds", "it grew most", "every year"."""
    word = claim[index].word
    following = [t for t in claim[index + 1 : index + 2] if t.clause == claim[index].clause]
    if word in ("before", "after"):
        return not following or following[0].word in ("that", "this")
    if word == "only":
        return any(t.is_number or t.word in _CONDITIONS | (_DEGREES if index else set()) for t in following)
    if word == "every":
        return any(t.key in UNITS for t in following)
    if word != "most" or any(t.word.endswith("ly") for t in following):
        return word == "most"
    numbers = [float(t.key) for t in claim if t.is_number and t.key.replace(".", "", 1).isdigit()]
    return not following or any(b < 2 * a < 2 * b for a in numbers for b in numbers)


def _lost_hedge(claim: Sequence[Token], sentence: Sequence[Token]) -> str:
    """Describe a word like "usually" before a word of the claim, which the claim leaves out."""
    claim_keys = {token.key for token in claim}
    for i, token in enumerate(sentence):
        if token.word not in HEDGES or token.is_month:
            continue
        hedged = next((t.key for t in sentence[i + 1 :] if t.is_content), None)
        if hedged in claim_keys:
            return f"the cited passages say {token.word!r}"
    return ""

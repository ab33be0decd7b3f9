"""Part of the query analysis: finds words that point at something the question itself does not name."""

from __future__ import annotations

from typing import NamedTuple

from adaptive_rag.analysis import lexicon as lx

_CLAUSE_STARTS = lx.word_set("if when because while since although though unless whether")
# These join clauses, but nouns as well.
_JOINTS = lx.word_set("and or but so before after then")
_LOOSE = lx.word_set("it its they them their theirs he him his she her hers")
_DEMONSTRATIVE_AFTER = lx.word_set(
    "is was are were about of like do does did than for after before by in with from"
)


class References(NamedTuple):
    """What a question leans on: words without an antecedent, words with one, and how it opens."""

    dangling: tuple[str, ...]
    resolved: tuple[str, ...]
    openers: tuple[str, ...]
    vague: tuple[str, ...]


def find_references(words: list[str]) -> References:
    """Find pronouns with and without an antecedent in the question, vague nouns, and elliptic openings."""
    dangling: list[str] = []
    resolved: list[str] = []
    vague: list[str] = []
    content_before = 0
    clause_content = 0
    previous_content = 0
    for i, word in enumerate(words):
        after = words[i + 1] if i + 1 < len(words) else ""
        if word in _CLAUSE_STARTS or (word in _JOINTS and _opens_clause(words[i + 1 : i + 4])):
            previous_content += clause_content
            clause_content = 0
        if word in _LOOSE and not _is_expletive(words, i):
            # "Why did Elon Musk start it?" names a person, not what "it" is; a clause boundary between
            # the name and the pronoun makes it likely that the one stands for the other.
            (resolved if previous_content and content_before else dangling).append(word)
        elif word in lx.DEMONSTRATIVES and _is_demonstrative(words, i):
            (resolved if previous_content else dangling).append(word)
        elif (
            word == "ones"
            or (word == "one" and _stands_for_noun(words, i))
            or (word in ("there", "here") and not after and content_before == 0)
        ):
            dangling.append(word)
        if word == "the" and after in lx.VAGUE_NOUNS and not _is_specified(words, i + 2):
            vague.append(f"the {after}")
        if word not in lx.SHAPE_WORDS:
            content_before += 1
            clause_content += 1
    return References(tuple(dangling), tuple(resolved), _openers(words), tuple(vague))


def _opens_clause(words: list[str]) -> bool:
    # "and where is it", "and it": not the "and" between two nouns.
    return bool(words) and (
        words[0] in _LOOSE or any(word in lx.WH_WORDS or word in lx.AUXILIARIES for word in words)
    )


def _stands_for_noun(words: list[str], i: int) -> bool:
    # "a new one", "the largest one on land"; not "how can one", "one of", "which one of".
    before = words[i - 1] if i else ""
    after = words[i + 1] if i + 1 < len(words) else ""
    return i > 1 and before not in lx.AUXILIARIES and (not after or after in ("in", "on", "for", "is", "was"))


def _is_expletive(words: list[str], i: int) -> bool:
    """Tell the "it" that stands for nothing: "is it fair to ...", "how long does it take to ..."."""
    if words[i] != "it":
        return False
    before, after, later = words[i - 1] if i else "", words[i + 1 : i + 2], words[i + 2 : i + 6]
    if not after:
        return False
    if after[0] in lx.EXPLETIVE_VERBS:
        return "to" in later or "for" in later
    if before in lx.COPULAS and after[0] in lx.JUDGEMENTS:
        return any(word in ("to", "that", "if", "when") for word in later)
    # "how hard is it to learn ...", "why is it that ...", "it is common to ..."
    if before in lx.COPULAS and after[0] in ("to", "that"):
        return bool(later)
    judged = any(word in lx.JUDGEMENTS for word in later[:2])
    return after[0] in lx.COPULAS and judged and any(word in ("to", "that") for word in later)


def _is_demonstrative(words: list[str], i: int) -> bool:
    before = words[i - 1] if i else ""
    after = words[i + 1] if i + 1 < len(words) else ""
    if words[i] != "that":
        return True
    # "that" inside a question mostly opens a clause ("the claim that ..."); it points at something where it
    # stands last, first, or after a verb of being.
    return not after or i == 0 or before in _DEMONSTRATIVE_AFTER


def _is_specified(words: list[str], i: int) -> bool:
    # "the process of ...", "the movie Alien": something follows that says which one.
    return i < len(words) and (
        words[i] in ("of", "for", "in", "to", "that", "between", "on", "behind")
        or words[i] not in lx.SHAPE_WORDS
    )


def _openers(words: list[str]) -> tuple[str, ...]:
    if not words:
        return ()
    pair = " ".join(words[:2])
    found = []
    if words[0] in lx.HEDGE_OPENERS:
        found.append(words[0])
    if pair in (
        "what about",
        "how about",
        "what else",
        "who else",
        "where else",
        "any other",
        "any more",
        "why not",
        "how so",
        "such as",
    ):
        found.append(pair)
    elif words[:3] in (["tell", "me", "more"], ["go", "on", "about"]):
        found.append("tell me more")
    return tuple(found)

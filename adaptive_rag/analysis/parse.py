"""First step of the query analysis: clean a question, split it into words, and find its references."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.state import Turn
from adaptive_rag.text.words import read_ends

# Maximum number of words that are analysed: later words tell little about the type of a question.
MAX_WORDS = 160

_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
_LONG_WORD = re.compile(r"\b[A-Za-z]{4,}\b")
_CONTRACTED = re.compile(r"^([a-z]+)'(ll|d|ve|re|m)$")
_MARKUP = re.compile(r"</?\w[^>\n]{0,40}>")
_BLANKS = re.compile(r"\s{2,}")
_INITIALS = re.compile(r"\b(?:[A-Z]\.){2,}")
_ABBREVIATION = re.compile(rf"\b(?:{'|'.join(lx.ABBREVIATIONS).upper()})\b")
# After "the" there is no pronoun, so "us" in "the us economy" is the abbreviation.
_ABBREVIATION_AFTER_THE = re.compile(rf"(?<=\bthe )(?:{'|'.join(lx.ABBREVIATIONS)})\b", re.IGNORECASE)
_SENTENCE_START = re.compile(r"(?:^|[.!?:])\W*$")

# The types and their synonyms, as an instruction names them.
_LABELS = (
    r"(?:fact(?:ual|oid)?|analytic(?:al)?|opinion(?:ated)?|contextual|type|category|label|"
    r"route|strategy|class(?:ification)?)"
)
# An instruction about the question's own type, which is removed: "Classify this as opinion."
_INSTRUCTION = re.compile(
    r"(?:^|(?<=[.!?\n;:\])]))\s*[\[(\"'*#<\-]*\s*"
    r"(?:(?:please|now|also|and|system|important|note|admin|instruction|instructions|assistant|user)[\s:,\-]+)*"
    rf"(?:(?:classify|label|treat|route|categori[sz]e|mark|tag|type|consider|handle|output|return|set)\b"
    rf"[^.!?\n]{{0,60}}?\b{_LABELS}\b"
    rf"|(?:this|the following|the above|it)(?:\s+(?:question|query))?\s+(?:is|must be|should be|counts as)"
    rf"\s+(?:an?\s+)?(?:classified\s+as\s+)?(?:an?\s+)?{_LABELS}(?:\s+(?:question|query|one))?(?=\s*[.!?\n\])]|\s*$)"
    r"|(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}?\b(?:instructions?|prompts?|rules?|above|previous|"
    r"prior|classifier|training)\b)"
    r"[^.!?\n\])]*[.!?\])\"'*>]*",
    re.IGNORECASE,
)

_CLAUSE_STARTS = lx.word_set("if when because while since although though unless whether")
# Words that join clauses, but also nouns.
_CONJUNCTIONS = lx.word_set("and or but so before after then")
_CLAUSE_WORDS = lx.WH_WORDS | lx.AUXILIARIES
# "the process of ..."
_SPECIFYING = lx.word_set("of for in to that between on behind")
# Words after which "that" is a pronoun: "is that", "about that".
_BEFORE_THAT = lx.word_set("is was are were about of like do does did than for after before by in with from")
_ELLIPTIC_PAIRS = {
    "what about", "how about", "what else", "who else", "where else", "any other", "any more", "why not",
    "how so", "such as",
}  # fmt: skip


class References(NamedTuple):
    """The words of a question that refer to something.

    `dangling` pronouns have no antecedent in the question and `resolved` ones do; `openers` are elliptic
    openings such as "what about"; `vague` nouns are such as "the process".
    """

    dangling: tuple[str, ...]
    resolved: tuple[str, ...]
    openers: tuple[str, ...]
    vague: tuple[str, ...]


class ParsedQuestion(NamedTuple):
    """A question, cleaned and split into words, with its context.

    `full_text` is `text` with abbreviations written out; it is split into words, and the router reads it.
    """

    text: str
    full_text: str
    words: tuple[str, ...]
    references: References
    user_context: str
    has_history: bool
    instruction_removed: bool


def parse_question(question: str, user_context: str = "", history: Sequence[Turn] = ()) -> ParsedQuestion:
    """Clean a question, split it into words, and add its context."""
    text, instruction_removed = _clean(question)
    full_text = write_out_abbreviations(text)
    words = tokenize(full_text)
    return ParsedQuestion(
        text=text,
        full_text=full_text,
        words=tuple(words),
        references=find_references(words[:MAX_WORDS]),
        user_context=user_context,
        has_history=any(turn["text"].strip() for turn in history),
        instruction_removed=instruction_removed,
    )


def _clean(question: str) -> tuple[str, bool]:
    """Return the cleaned text of a question, and whether an instruction was removed from it."""
    text = read_ends(unicodedata.normalize("NFKC", question).replace("’", "'").replace("`", "'"))
    # Runs of blanks are collapsed, since the pattern would search the rest of a run after each of its blanks.
    text = _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", text)
    remaining = _INSTRUCTION.sub(" ", text)
    # A question that is nothing but such an instruction stays as it is.
    is_removed = remaining != text and any(map(str.isalpha, remaining))
    text = " ".join(_MARKUP.sub(" ", remaining if is_removed else text).split())
    corrections = _misspellings()
    return _LONG_WORD.sub(lambda match: corrections.get(match[0].lower(), match[0]), text), is_removed


def write_out_abbreviations(text: str) -> str:
    """Write out the abbreviations that look like pronouns: "What is IT?", "in the U.S.", "who runs the who".

    "Tell us" and "WHO said so?" stay as they are, and so does a text in capitals, in which every word looks
    like an abbreviation.
    """
    text = _INITIALS.sub(lambda match: match[0].replace(".", ""), text)
    text = _ABBREVIATION_AFTER_THE.sub(lambda match: lx.ABBREVIATIONS[match[0].lower()], text)
    if not any(character.islower() for character in text):
        return text

    def write_out(match: re.Match[str]) -> str:
        is_question_word = match[0] == "WHO" and _SENTENCE_START.search(text[: match.start()])
        return match[0] if is_question_word else lx.ABBREVIATIONS[match[0].lower()]

    return _ABBREVIATION.sub(write_out, text)


@cache
def _misspellings() -> dict[str, str]:
    """Return the corrections of misspelt shape words: an inner letter is missing, doubled or swapped."""
    corrections: dict[str, str] = {}
    for word in sorted(word for word in lx.SHAPE_WORDS if len(word) >= 5):
        for i in range(1, len(word) - 1):
            head, letter, tail = word[:i], word[i], word[i + 1 :]
            for misspelling in (head + tail, head + 2 * letter + tail, head + tail[0] + letter + tail[1:]):
                corrections.setdefault(misspelling, word)
    for word in lx.SHAPE_WORDS | lx.NO_MISSPELLINGS:
        corrections.pop(word, None)
    return corrections


def tokenize(text: str) -> list[str]:
    """Split a text into lower-case words and write out contractions: "What's" gives "what", "is"."""
    words: list[str] = []
    for raw in _WORD.findall(text.lower()):
        if contracted := _CONTRACTED.match(raw):
            words += [contracted[1], lx.CONTRACTED_ENDINGS[contracted[2]]]
        elif raw.endswith("'s"):
            words += [raw[:-2], "is"] if f"{raw[:-2]}s" in lx.CONTRACTIONS else [raw[:-2]]
        else:
            plain = raw.replace("'", "")
            words += lx.CONTRACTIONS.get(plain, plain).split()
    return words


def find_references(words: list[str]) -> References:
    """Return the pronouns with and without an antecedent, the vague nouns and the elliptic openings."""
    dangling: list[str] = []
    resolved: list[str] = []
    vague: list[str] = []
    topics_in_clause = topics_before_clause = 0
    padded = ["", *words, "", ""]
    for i, word in enumerate(words):
        before, (after, later) = padded[i], padded[i + 2 : i + 4]
        # "and where is it" and "and it" begin a clause; the "and" between two nouns does not.
        begins_clause = after in lx.PRONOUNS or not _CLAUSE_WORDS.isdisjoint(words[i + 1 : i + 4])
        if word in _CLAUSE_STARTS or (word in _CONJUNCTIONS and begins_clause):
            topics_before_clause += topics_in_clause
            topics_in_clause = 0
        # "that" mostly begins a clause ("the claim that ..."). It refers to something if it is the first or
        # last word, or follows one of the words in `_BEFORE_THAT`, such as "is" or "about".
        is_demonstrative = word != "that" or not before or not after or before in _BEFORE_THAT
        # "a new one", "the largest one on land"; not "how can one", "one of".
        is_noun = i > 1 and before not in lx.AUXILIARIES and after in ("", "in", "on", "for", "is", "was")
        # "Is there", "who was here": the last word, without a topic before it.
        is_last_without_topic = not after and not topics_in_clause + topics_before_clause
        is_pronoun = word in lx.PRONOUNS and not (
            word == "it" and _is_expletive(before, words[i + 1 : i + 6])
        )
        if is_pronoun or (word in lx.DEMONSTRATIVES and is_demonstrative):
            # A topic in an earlier clause is the antecedent: in "What is insulin and where is it produced?",
            # "it" refers to insulin. In "Why did Elon Musk start it?", it does not refer to the name.
            (resolved if topics_before_clause else dangling).append(word)
        elif (
            word == "ones"
            or (word == "one" and is_noun)
            or (word in ("there", "here") and is_last_without_topic)
        ):
            dangling.append(word)
        # In "the process of ..." and "the movie Alien", the next words tell which one.
        is_specified = later in _SPECIFYING or (later and later not in lx.SHAPE_WORDS)
        if word == "the" and after in lx.VAGUE_NOUNS and not is_specified:
            vague.append(f"the {after}")
        topics_in_clause += word not in lx.SHAPE_WORDS
    return References(tuple(dangling), tuple(resolved), tuple(_elliptic_openings(words)), tuple(vague))


def _is_expletive(before: str, following: list[str]) -> bool:
    """Return whether an "it" refers to nothing: "is it fair to ...", "how long does it take to ..."."""
    after, later = following[0] if following else "", following[1:]
    if after in lx.EXPLETIVE_VERBS:
        return "to" in later or "for" in later
    clause_follows = "to" in later or "that" in later
    if before in lx.COPULAS and after in lx.JUDGEMENTS:
        return clause_follows or "if" in later or "when" in later
    # "how hard is it to learn ...", "why is it that ..."
    if before in lx.COPULAS and after in ("to", "that"):
        return bool(later)
    # "it is common to ..."
    return after in lx.COPULAS and clause_follows and not lx.JUDGEMENTS.isdisjoint(later[:2])


def _elliptic_openings(words: list[str]) -> list[str]:
    openings = [words[0]] if words and words[0] in lx.OPENERS else []
    if (pair := " ".join(words[:2])) in _ELLIPTIC_PAIRS:
        openings.append(pair)
    elif words[:3] in (["tell", "me", "more"], ["go", "on", "about"]):
        openings.append("tell me more")
    return openings

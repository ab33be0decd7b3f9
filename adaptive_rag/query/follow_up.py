"""Finds the subject that a follow-up lacks: "And in 2021?" depends on the question before it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adaptive_rag.query.ellipsis import (
    AUXILIARY,
    MODAL,
    PRONOUN,
    QUESTION_WORD,
    STARTS_WITH_VERB,
    fill_ellipsis,
    is_content_word,
)
from adaptive_rag.query.history import content_terms
from adaptive_rag.query.small_talk import kind_of_small_talk
from adaptive_rag.state import Turn
from adaptive_rag.text.markdown import LIST_SIGN
from adaptive_rag.text.markers import strip_markers
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.words import STOP_WORDS, read_ends, stem, terms

# "Ok and in 2021?", "great, and ...", "no I meant ...": words before a follow-up that say nothing.
_LEAD = re.compile(
    r"^(?:(?:(?:ok(?:ay)?|then|now|hm+)\b|(?:no|sorry|yes|well|right|great|cool|thanks|thank you)"
    r"(?:(?=[,.!])|(?= i mean)))[,.! ]*)+",
    re.IGNORECASE,
)
# "And in 2021?", "What about the second one?": a question that begins with "And" is never self-contained.
_CONTINUES = re.compile(
    r"(?:and|but|or|so|also|any)\b|(?:what|how) (?:about|of)\b|what if\b|i meant?\b"
    r"|(?:why(?: not)?|(?:for )?how \w+)\s*\?*$",
    re.IGNORECASE,
)
# "on sundays?", "for a family of four": a preposition, and no verb
_FRAGMENT = re.compile(
    r"(?:for|on|in|at|with|without|from|by|after|before|until|during)\s"
    rf"(?!.*\b(?:{AUXILIARY}|{QUESTION_WORD})\b)",
    re.IGNORECASE,
)
# Maximum number of content words of such a fragment: not "in vitro fertilisation cost".
FRAGMENT_WORDS = 2
# The last question is meant once more: its answer has the source, and nothing more certain is known.
_ASKS_AGAIN = re.compile(
    r"(?:(?:and|but) )?"
    r"(?:really|(?:are you )?(?:really |quite )?(?:sure|certain)(?: (?:about|of) (?:that|this|it))?"
    r"|is (?:that|this|it) (?:really )?(?:true|right|correct)|how do you know(?: (?:that|this|it))?"
    r"|(?:who|where|which \w+) (?:says?|does it say) (?:that|this|it|so)|says who|sources?"
    r"|where (?:is (?:that|this|it) (?:from|written)|did you (?:read|find|get) (?:that|this|it)(?: from)?)"
    r"|what(?:'?s| is) (?:the|your) source|in short|briefly|shorter"
    r"|(?:(?:can|could) you )?(?:please )?(?:repeat|say) (?:that|it)(?: again| in short| briefly)?)"
    r"(?:,? please)?",
    re.IGNORECASE,
)
# "How much is it?" has no content word of its own, and is still what "and for children?" refers to.
_POINTS_BACK = re.compile(rf"(?:and )?(?!why){QUESTION_WORD} \w+ ", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|him|his|she|her|hers)\b", re.IGNORECASE)
# Where a second question begins: a pronoun after it may refer to the first one.
_NEXT_QUESTION = re.compile(
    rf"[?.!]\s+|,? and (?={QUESTION_WORD}\b|{AUXILIARY} (?:it|they|he|she)\b)", re.IGNORECASE
)
# "Is it possible to", "it is allowed to": the word "it" refers to nothing.
_EMPTY_IT = re.compile(
    r"\b(?:is|was|would|will|can) (?:it|this) (?:be )?\w+ (?:to|that|if)\b|\bit (?:is|was) \w+ (?:to|that)\b",
    re.IGNORECASE,
)
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_ORDINAL = re.compile(
    rf"\bthe ({'|'.join(_ORDINALS)})(?: (?:one|option|point|item|step)\b|(?=\s*[?.!]*$))", re.IGNORECASE
)
_ITEM = re.compile(LIST_SIGN.pattern + "(.+)$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_VERB_FIRST = re.compile(rf"^(?:who|what)\s+(?!{AUXILIARY}\b)\w+", re.IGNORECASE)
# "Can I bring a dog" asks about the dog: the verb follows the pronoun.
_VERB_AFTER = re.compile(rf"\b{MODAL} (?:i|you|we|one|he|she|it|they) \w+\b", re.IGNORECASE)
# "What does the pump cost", but not "Can members borrow a key".
_VERB_LAST = re.compile(
    rf"^(.*\b{MODAL}\b.*)(?<! a)(?<! an)(?<! the)(?<! my)\s\w+$|^(.*)\s\w+ed$", re.IGNORECASE
)
# A question with more content words than this names what its pronouns refer to: "If a tenant loses the key of
# the flat, who pays for their new one?"
MOST_WORDS = 4
# Number of earlier questions that are searched for a follow-up's subject, and of words in a subject, at most.
QUESTIONS_BACK, SUBJECT_WORDS = 3, 12


def complete(question: str, history: Sequence[Turn], back: int = QUESTIONS_BACK) -> tuple[str, str]:
    """Return a question, and the words that it lacks as a follow-up; "" where it lacks none.

    A follow-up that only replaces a part of the last question ("And to Norway?") becomes that question with
    its part replaced, and one that asks for its answer again ("Are you sure?") becomes that question. Any
    other lacks a subject: the content words of the last question, which may itself be a follow-up; its verb
    is left out where the follow-up has one.
    """
    last, asked = _find_last_question(history), question
    question = _LEAD.sub("", asked.strip())
    asks_again = _asks_again(question)
    if last is None or not back or not (asks_again or is_follow_up(question)):
        return asked, ""
    text = _LEAD.sub("", read_ends(history[last]["text"]).strip())
    previous, earlier_subject = complete(text, history[:last], back - 1)
    if asks_again:
        return previous, earlier_subject
    replies = history[last + 1 :]
    item = _find_item(question, replies)
    if not item and not earlier_subject and (filled := fill_ellipsis(question, previous)):
        return filled, ""
    verbless = _without_verb(previous.rstrip(" ?.!"))
    if STARTS_WITH_VERB.match(question) and _content_words(f"{verbless}\n{earlier_subject}"):
        previous = verbless
    answer = strip_markers(read_ends(" ".join(turn["text"] for turn in replies if turn["role"] == "agent")))
    referents = [item, _find_person(question, answer)]
    subject_words = _subject_words(question, f"{previous}\n{earlier_subject}")
    words = dict.fromkeys(word for text in (*referents, *subject_words) for word in text.split())
    return asked, " ".join(list(words)[:SUBJECT_WORDS])


def last_question(history: Sequence[Turn]) -> str:
    """Return the last question of a conversation, completed where it replaces a part of one before it."""
    last = _find_last_question(history)
    return complete(history[last]["text"], history[:last])[0] if last is not None else ""


def _find_last_question(history: Sequence[Turn]) -> int | None:
    places = range(len(history) - 1, -1, -1)
    asks = (place for place in places if history[place]["role"] == "user")
    return next((place for place in asks if _asks_something(history[place]["text"])), None)


def _asks_something(text: str) -> bool:
    """Return whether a text asks anything: not "Great, thanks!", "Are you sure?" or "Why?"."""
    text = _LEAD.sub("", text.strip())
    if kind_of_small_talk(text) or _asks_again(text):
        return False
    return bool(content_terms(text) or (not terms(text) and _POINTS_BACK.match(text)))


def _asks_again(text: str) -> bool:
    return bool(_ASKS_AGAIN.fullmatch(text.rstrip(" ?.!")))


def add_subject(part: str, first: str) -> str:
    """Return a later part of a question with the subject of the first part, where it names none of its own.

    The first part's verb is not part of its subject: "who opened the bath" and "when was the bath opened"
    both give "bath".
    """
    if not is_follow_up(part) and len(_words_without_numbers(part)) > 1:
        return part
    return "\n".join(filter(None, (part, " ".join(_subject_words(part, _without_verb(first))))))


def is_follow_up(question: str) -> bool:
    """Return whether a question depends on earlier turns: "Is it?", "And in 2021?", "Who objected?"."""
    words = _words_without_numbers(question)
    if len(words) > MOST_WORDS:
        return False
    verb = _VERB_FIRST.match(question)
    if not words or (len(words) == 1 and verb and verb[0].endswith(words[0])):
        return True  # not "Who works in Sales?"
    first, *_ = _NEXT_QUESTION.split(question, maxsplit=1)
    bare = _EMPTY_IT.sub(" ", first if _content_words(first) else question)
    begins_as_one = _CONTINUES.match(question.strip()) or (
        len(words) <= FRAGMENT_WORDS and _FRAGMENT.match(question.strip())
    )
    return bool(begins_as_one or PRONOUN.search(bare) or _ORDINAL.search(bare))


def _words_without_numbers(question: str) -> list[str]:
    return [word for word in _content_words(question) if not word.isdigit()]


def _content_words(text: str) -> list[str]:
    """Return the words that carry meaning, or have a capital letter inside a sentence, such as "May"."""
    return [
        match[0]
        for match in _WORD.finditer(text)
        if is_content_word(match[0])
        or (match.start() and match[0][0].isupper() and match[0][:2].rstrip("'’") != "I")
    ]


def _subject_words(question: str, previous: str) -> list[str]:
    """Return the content words of the previous question that the follow-up does not repeat."""
    repeated = set(terms(question))
    return [word for word in _content_words(previous) if stem(word.lower()) not in repeated]


def _without_verb(question: str) -> str:
    """Remove a question's verb: after "who" or "what", after "do you", or at the end after an auxiliary."""
    for verb in (_VERB_FIRST, _VERB_AFTER):
        if (verbless := verb.sub("", question)) != question:
            return verbless
    return _VERB_LAST.sub(r"\1\2", question)


def _find_item(question: str, replies: Sequence[Turn]) -> str:
    """Return the content words of the item or sentence of the answer that "the second one" refers to."""
    ordinal = _ORDINAL.search(question)
    text = strip_markers("\n".join(turn["text"] for turn in replies if turn["role"] == "agent"))
    items = _ITEM.findall(text) or [text[start:end] for start, end in sentence_spans(text)]
    index = _ORDINALS[ordinal[1].lower()] if ordinal else 0
    if not ordinal or not -len(items) <= index < len(items):
        return ""
    return " ".join(_content_words(items[index]))


def _find_person(question: str, answer: str) -> str:
    """Return the names of the answer's first sentence, where the follow-up says "he" or "her"."""
    if not _PERSON.search(question) or not (spans := sentence_spans(answer)):
        return ""
    words = (word for word in _WORD.findall(answer[slice(*spans[0])]) if word.lower() not in STOP_WORDS)
    return " ".join(word for word in words if word[0].isupper() and not any(map(str.isdigit, word)))

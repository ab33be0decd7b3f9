"""Reads the question, the user's situation, and the conversation before the question."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, convert_to_messages

from adaptive_rag.errors import InputError
from adaptive_rag.query.ellipsis import AUXILIARY, QUESTION_WORD
from adaptive_rag.state import Turn
from adaptive_rag.text.phrases import is_refusal
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.text.visible import without_surrogates
from adaptive_rag.text.words import ASKING_WORDS, stem, terms

MAX_QUESTION = 20_000
# A line of the context repeats the conversation if it shares at least this part of its words.
REPEATED_SHARE = 0.8

# Words of courtesy: "Does that help?", "Anything else?", "Is it the same subject?"
_COURTESY = """
    another answer answers anything ask assist assistance course else feel free glad hear hello help helped
    helpful helps hi matter question questions same still subject thank thanks today topic welcome
"""
_WITHOUT_CONTENT = frozenset(stem(word) for word in ASKING_WORDS | set(_COURTESY.split()))
_STARTS_LIKE_QUESTION = re.compile(rf"(?:am|{AUXILIARY}|{QUESTION_WORD})\b", re.IGNORECASE)
# The start of a reply to a question: "Yes", "I am", "In Ohio", "35"; not "In which year".
_STARTS_LIKE_ANSWER = re.compile(
    r"(?:yes|yeah|yep|yup|no|nope|nah|ok|okay|sure|maybe|perhaps|probably|correct|right|true|exactly|not|none"
    r"|neither|both|never|always|i|we|my|our|im|it|its|they|in|at|on|since|from|about|around|under|over|less"
    r"|more|before|after|because|only|just|\d+)\b(?!\s+wh)",
    re.IGNORECASE,
)
# Words that refer to the user: "My son goes to school here." Not "World War I", nor "the mine".
_NUMBERED = "Act Book Charles Class Elizabeth George James Part Phase Type Volume War".split()
_NO_NUMERAL = "".join(f"(?<!{word} )" for word in _NUMBERED)
_ABOUT_USER = re.compile(
    rf"\b(?:{_NO_NUMERAL}I|[Mm]y|me|(?<=\b(?:is|of) )mine|Mine (?:is|are|was|were)|[Ww]e|[Oo]ur|us)\b"
)
_SPEAKER = re.compile(r"^(user|human|assistant|agent|ai|bot)\s*:\s*", re.IGNORECASE | re.MULTILINE)


def read_question(state: Mapping[str, Any]) -> tuple[str, list[Turn]]:
    """Return the question and the turns before it.

    If the conversation ends with the user's message, that message is the question; otherwise it is
    `question`. In a thread, a message that was read before and never answered is older than `question`.

    Raises:
        InputError: there is no question, or it is too long to be one, or the user's context is no text.
    """
    messages: Sequence[AnyMessage] = state.get("messages", [])
    question, earlier = state.get("question", ""), messages
    read_before = state.get("question_read")
    is_newer = question not in ("", read_before) and ends_with_question(messages, read_before)
    if ends_with_question(messages) and not is_newer:
        question, earlier = str(messages[-1].text), messages[:-1]
    for name, text in (("question", question), ("user_context", state.get("user_context") or "")):
        if not isinstance(text, str):
            raise InputError(f"{name} = {text!r} is not usable: expected a text.")
    question = _clean(question)
    if not question:
        raise InputError(
            "The question is empty. Pass a text as 'question', or 'messages' that end with the user's."
        )
    if len(question) > MAX_QUESTION:
        raise InputError(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION:,} are read. "
            "Put long material into a document and index it."
        )
    return question, read_history(state.get("history") or [], earlier)


def ends_with_question(messages: Sequence[Any], *questions: str | None) -> bool:
    """Return whether a conversation ends with the user's message, or with one of these questions."""
    is_users = bool(messages) and isinstance(messages[-1], HumanMessage)
    return is_users and (not questions or _clean(messages[-1].text) in questions)


def _clean(text: str) -> str:
    return without_surrogates(text).strip()


def full_question(state: Mapping[str, Any]) -> str:
    """Return the question as it is searched and compared: spelt as in the index, with its subject."""
    return "\n".join(filter(None, (spelt_question(state), state.get("subject", ""))))


def spelt_question(state: Mapping[str, Any]) -> str:
    """Return the question with its words spelt as in the index."""
    spelt: str = state.get("spelt_question") or state["question"]
    return spelt


def split_situation(question: str) -> tuple[str, str]:
    """Split "I run a bakery. How do I prepare for a flood?" into the user's situation and the question.

    The situation is "" and the question stays whole where no statement is about the user, or where the
    question alone says too little: "I run a bakery. What should I do?"
    """
    sentences = [question[start:end] for start, end in sentence_spans(question)]
    situation = " ".join(sentence for sentence in sentences if not _is_question(sentence))
    questions = " ".join(sentence for sentence in sentences if _is_question(sentence))
    if _ABOUT_USER.search(situation) and content_terms(questions):
        return situation, questions
    return "", question


def read_history(history: Sequence[Turn], messages: Sequence[AnyMessage]) -> list[Turn]:
    """Return the earlier turns, given or from the messages, without answers that abstained.

    Raises:
        InputError: a given turn lacks its role or its text.
    """
    said = [_read_turn(turn) for turn in history] or messages
    return [
        Turn(
            role="user" if isinstance(message, HumanMessage) else "agent",
            text=without_surrogates(message.text),
        )
        for message in said
        if isinstance(message, HumanMessage | AIMessage) and message.text
        if isinstance(message, HumanMessage) or not _is_refusal(message)
    ]


def _read_turn(turn: Any) -> BaseMessage:
    """Read a turn, which is like `{"role": "user", "text": "..."}` or has a form of LangChain's messages."""
    if isinstance(turn, dict) and turn.get("role") in ("user", "agent") and isinstance(turn.get("text"), str):
        return HumanMessage(turn["text"]) if turn["role"] == "user" else AIMessage(turn["text"])
    if isinstance(turn, dict | tuple | list | BaseMessage):
        with contextlib.suppress(ValueError, NotImplementedError):
            [message] = convert_to_messages([turn])
            return message
    raise InputError(
        f'history holds {turn!r}; expected turns like {{"role": "user", "text": "..."}} with the role "user" '
        'or "agent", or messages like ("user", "...") and ("ai", "...").'
    )


def _is_refusal(message: AIMessage) -> bool:
    """Return whether an answer abstained; one that was passed as a text is told by its words."""
    return bool(message.response_metadata.get("abstained", is_refusal(message.text)))


def own_words(state: Mapping[str, Any]) -> str:
    """Return what the caller says about the user, without the profile that `classify` has added."""
    user_context = without_surrogates(state.get("user_context") or "")
    return user_context.removesuffix(state.get("profile", "")).strip()


def join_context(user_context: str, profile: str) -> str:
    """Join what the user says about themselves with their profile; what they say now comes first."""
    return "\n".join(part for part in (user_context.strip(), profile.strip()) if part)


@dataclass(frozen=True)
class Conversation:
    """The parts of a conversation that matter for its last question."""

    # what the user says about themselves, without lines that repeat the conversation
    situation: str
    # questions of the agent with the user's answers, oldest first
    answered: list[str]
    # everything else that was said, oldest first
    other_turns: list[str]


def parse_history(question: str, user_context: str, history: Sequence[Turn]) -> Conversation:
    """Sort the sentences of a conversation by their role for the question.

    A question of the agent that the user answered is about the current need; the question itself may be the
    last such answer. Everything else (the agent's statements, the user's earlier questions, and the agent's
    unanswered questions) goes to the other turns. Sentences without a content word ("Does that help?") are
    left out.
    """
    turns, transcript = list(history), _turns_of(user_context)
    if transcript and not _has_agent(turns):
        turns = transcript
    answered: list[str] = []
    other_turns: list[str] = []
    is_answer = False
    for turn, next_turn in pairwise([*turns, Turn(role="user", text=question)]):
        text = turn["text"]
        if turn["role"] != "agent":
            (answered if is_answer else other_turns).append(text)
            is_answer = False
            continue
        sentences = [text[start:end] for start, end in sentence_spans(text)]
        questions = [sentence for sentence in sentences if _is_question(sentence) and content_terms(sentence)]
        is_answer = bool(questions) and next_turn["role"] == "user" and _is_answer(next_turn["text"])
        if is_answer:
            answered.append(" ".join(questions))
            sentences = [sentence for sentence in sentences if not _is_question(sentence)]
        other_turns.append(" ".join(sentence for sentence in sentences if content_terms(sentence)))
    return Conversation(
        _situation(user_context, turns, is_transcript=bool(transcript)),
        answered,
        [text for text in other_turns if content_terms(text)],
    )


def _is_question(text: str) -> bool:
    text = text.rstrip(" \"')»”")
    return text.endswith("?") or (bool(_STARTS_LIKE_QUESTION.match(text)) and not text.endswith((".", "!")))


def _is_answer(text: str) -> bool:
    return bool(_STARTS_LIKE_ANSWER.match(text.lstrip())) and not _is_question(text)


def content_terms(text: str) -> list[str]:
    """Return the stems of a text without question words and words of courtesy; none for "Does that help?"."""
    return [term for term in terms(text) if term not in _WITHOUT_CONTENT]


def _situation(user_context: str, turns: Sequence[Turn], *, is_transcript: bool) -> str:
    """Return the lines of the context that are not turns and do not repeat the turns."""
    turn_terms = {term for turn in turns for term in terms(turn["text"])}
    lines = [line.strip() for line in user_context.splitlines()]
    return "\n".join(
        line
        for line in lines
        if line and not _repeats(line, turn_terms) and not (is_transcript and _SPEAKER.match(line))
    )


def _repeats(line: str, turn_terms: set[str]) -> bool:
    line_terms = set(terms(line))
    return bool(line_terms) and len(line_terms & turn_terms) >= REPEATED_SHARE * len(line_terms)


def _turns_of(user_context: str) -> list[Turn]:
    """Read a transcript ("User: ... Assistant: ...") that was passed as context; [] for any other text.

    "User: Anna, nurse on ward 3" says who asks: a transcript has an agent.
    """
    labels = list(_SPEAKER.finditer(user_context))
    ends = [label.start() for label in labels[1:]] + [len(user_context)] * bool(labels)
    turns = [
        Turn(
            role="user" if label[1].lower() in ("user", "human") else "agent",
            text=user_context[label.end() : end].strip(),
        )
        for label, end in zip(labels, ends, strict=True)
    ]
    return turns if _has_agent(turns) else []


def _has_agent(turns: Sequence[Turn]) -> bool:
    return any(turn["role"] == "agent" for turn in turns)

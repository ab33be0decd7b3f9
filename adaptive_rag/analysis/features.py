"""Part of the query analysis: turns a question into named features for the linear router."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.references import References, find_references
from adaptive_rag.analysis.text import clean, tokenize
from adaptive_rag.state import Turn

# Words beyond these say little about the kind of question and would cost time.
MAX_WORDS = 160
_SCENARIO = re.compile(
    r"^(?:(?:please )?(?:imagine|suppose|supposing|assume|assuming|consider|given|"
    r"let us (?:say|assume|suppose)|say (?:i|you|we|your|my|a|there))|"
    r"an? (?:\d+|[a-z]+) (?:year|y o|yo)|you (?:are|have|work|were)|if you (?:are|were|had|have)|"
    r"if i (?:am|was|were|have|had)|"
    r"(?:a|my|your|the|our) (?:patient|client|student|friend|customer|colleague))\b"
)
_ASKS_FOR_VIEWS = re.compile(
    r"\b(?:views|opinions|perspectives|viewpoints|stances|attitudes|objections|points of view"
    r"|pros and cons)\b"
    r"|\b(?:opinion|view|positions?|stance|attitude) (?:on|about|towards?)\b|\bpublic (?:opinion|view)\b"
    r"|\b(?:arguments?|case|speaks|speak|argue) (?:for|against|in favou?r)\b|\bfor (?:and|or) against\b"
    r"|\bwhat (?:do|would) (?:\w+ ){1,3}(?:think|feel|believe|say (?:about|of|on))\b"
    r"|\bwhat (?:does|is) the (?:public|press) (?:think|say)|\bwhat are (?:\w+ ){1,2}saying (?:about|of|on)\b"
    r"|\bhow do (?!i |we )(?:\w+ ){1,3}(?:feel about|view|regard)\b"
    r"|^(?:is|are|was) .*\bworth (?:it|the|\w+ing)\b"
)
_ASKS_FOR_A_DATUM = re.compile(
    r"^(?:(?:and|so|in|on|at|by|from|to|for|about) )?"
    r"(?:who|whose|whom|when|where|"
    r"how (?:many|much|tall|long|deep|old|far|high|wide|fast|hot|big|large|heavy|often)"
    r"|(?:what|which) (?:year|month|day|date|time|century|city|town|country|state|river|company|person|king"
    r"|team|language|metal|planet|element|colou?r|number|percentage|age|channel|award)"
    r"|what (?:is|was|are|were) the (?:\w+ ){0,2}(?:names?|capital|number|term|word|title|height|length|depth"
    r"|weight|speed|age|date|population|currency|distance|temperature|price|symbol|nickname|abbreviation))\b"
)

# The embedding speaks through weights of its own for each of these kinds of question.
KINDS = ("yes or no", "how or why", "what or who", "other", "first person")


class Question(NamedTuple):
    """A question taken apart once, for the router and the other analysers to share."""

    text: str
    words: tuple[str, ...]
    references: References
    user_context: str
    context_words: frozenset[str]
    history_words: frozenset[str]
    has_history: bool
    altered: bool
    orders_removed: bool


def take_apart(question: str, user_context: str = "", history: Sequence[Turn] = ()) -> Question:
    """Clean and tokenise a question and what surrounds it."""
    cleaned = clean(question)
    words = tokenize(cleaned.text)
    recent = " ".join(turn["text"][:1000] for turn in history[-4:])
    return Question(
        text=cleaned.text,
        words=tuple(words),
        references=find_references(words[:MAX_WORDS]),
        user_context=user_context,
        context_words=_content(tokenize(user_context[:2000])),
        history_words=_content(tokenize(recent)),
        has_history=any(turn["text"].strip() for turn in history),
        altered=cleaned.altered,
        orders_removed=cleaned.orders_removed,
    )


def _content(words: list[str]) -> frozenset[str]:
    return frozenset(word for word in words if word not in lx.SHAPE_WORDS and len(word) > 2)


def extract(question: Question) -> dict[str, dict[str, float]]:
    """Give the features of each family by name: words, shapes, letters and form.

    Counting families hold 1.0 for a feature that is present; `form` holds its own values.
    """
    words = list(question.words[:MAX_WORDS])
    return {
        "words": dict.fromkeys(_grams(["<", *words, ">"], 1, 3), 1.0),
        "shapes": dict.fromkeys(_grams(["<", *_skeleton(words), ">"], 2, 4), 1.0),
        "letters": dict.fromkeys(_letters(words), 1.0),
        "form": _form(question, words),
    }


def find_kind(form: dict[str, float]) -> int:
    """Give the index in `KINDS` of a question with these form features."""
    if "first person" in form:
        return 4
    opening = next((name for name in form if name.startswith("opens with ")), "").removeprefix("opens with ")
    if opening in ("how", "why"):
        return 1
    if opening in lx.WH_WORDS:
        return 2
    return 3 if opening in ("other", "a case", "") else 0


def _grams(words: list[str], low: int, high: int) -> list[str]:
    return [
        " ".join(words[i : i + n])
        for n in range(low, high + 1)
        for i in range(len(words) - n + 1)
        if not (n == 1 and words[i] in "<>")
    ]


def _skeleton(words: list[str]) -> list[str]:
    """Keep the words that shape a question; a run of others becomes one underscore."""
    shape: list[str] = []
    for word in words:
        if word in lx.SHAPE_WORDS:
            shape.append(word)
        elif word.isdigit():
            shape.append("#")
        elif not shape or shape[-1] != "_":
            shape.append("_")
    return shape


def _letters(words: list[str]) -> list[str]:
    return [gram for word in words for gram in spell_letters(word)]


def spell_letters(word: str) -> list[str]:
    """List the runs of three to five letters in a word, its ends marked by a space."""
    padded = f" {word} "
    return [padded[i : i + n] for n in (3, 4, 5) for i in range(len(padded) - n + 1)]


def _form(question: Question, words: list[str]) -> dict[str, float]:
    form: dict[str, float] = {}
    present = set(words)
    references = question.references
    content = [word for word in words if word not in lx.SHAPE_WORDS]
    length = len(words)

    opening = next((word for word in words if word not in lx.HEDGE_OPENERS), "")
    kind = opening if opening in lx.WH_WORDS | lx.MODALS | lx.AUXILIARIES else "other"
    form[f"opens with {kind}"] = 1.0
    for limit in (3, 5, 8, 12, 20, 40):
        if length <= limit:
            form[f"at most {limit} words"] = 1.0
    for limit in (0, 1, 2, 3):
        if len(content) <= limit:
            form[f"at most {limit} topic words"] = 1.0

    if kind in lx.MODALS | lx.AUXILIARIES:
        form["asks yes or no"] = 1.0
    if len(content) <= 2:
        form[f"few topic words, opens with {kind}"] = 1.0
    if len(words) > 2 and words[-2] == "the" and words[-1] not in lx.SHAPE_WORDS:
        form["ends on a bare definite noun"] = 1.0

    singular = present & lx.SINGULAR_FIRST
    plural = present & (lx.FIRST_PERSON - lx.SINGULAR_FIRST)
    possessive = present & lx.POSSESSIVE_FIRST
    if singular:
        form["first person"] = 1.0
        for modal in present & lx.MODALS:
            form[f"first person with {modal}"] = 1.0
        form[f"first person opens with {kind}"] = 1.0
        if length > 15:
            form["first person, long"] = 1.0
        head = " ".join(words[:3])
        if head in (
            "how do i",
            "how can i",
            "how to i",
            "where can i",
            "what can i",
            "where do i",
            "how would i",
        ):
            form[f"asks {head}"] = 1.0
    if possessive:
        form["my or our"] = 1.0
        form[f"my or our, opens with {kind}"] = 1.0
    if plural:
        form["we or us"] = 1.0
    if present & lx.SECOND_PERSON:
        form["second person"] = 1.0
        form[f"second person opens with {kind}"] = 1.0

    whole = " ".join(words)
    if _ASKS_FOR_VIEWS.search(whole):
        form["asks for views"] = 2.0
    if _ASKS_FOR_A_DATUM.search(whole):
        form["asks for a name, number, place or date"] = 1.0

    head_text = " ".join(words[:8])
    if _SCENARIO.match(head_text):
        form["opens with a case"] = 1.0
    sentences = [part for part in re.split(r"[.!?\n]+\s", question.text) if part.strip()]
    if len(sentences) > 1:
        form["several sentences"] = 1.0
        if not any(word in lx.WH_WORDS for word in tokenize(sentences[0])[:2]):
            form["tells before it asks"] = 1.0

    dependent = 0.0
    if references.dangling:
        form["reference without antecedent"] = 1.0
        form[f"reference without antecedent, opens with {kind}"] = 1.0
        dependent = 1.0
        if len(content) <= 2:
            form["reference, few topic words"] = 1.0
        for word in references.dangling[:3]:
            form[f"unresolved {word}"] = 1.0
    if references.resolved:
        form["reference with antecedent"] = 1.0
    if references.openers:
        form["elliptic opening"] = 1.0
        dependent = max(dependent, 0.8)
    if references.vague:
        form["vague noun"] = 1.0
        dependent = max(dependent, 0.5)
    if len(content) <= 1:
        dependent = max(dependent, 0.5)

    if question.has_history:
        form["has history"] = 1.0
        if dependent:
            form["leans on history"] = dependent
        else:
            form["stands alone in a conversation"] = 1.0
    if question.user_context.strip():
        form["has context"] = 1.0
        if singular or possessive:
            form["first person with context"] = 1.0
        if dependent:
            form["leans on context"] = dependent
        if question.context_words & set(content):
            form["shares words with context"] = 1.0
    return form

"""Second step of the query analysis: turn a parsed question into named features for the router."""

import re
from collections.abc import Mapping

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.parse import MAX_WORDS, ParsedQuestion, References, tokenize

# The features of a question: family -> name -> value.
Features = Mapping[str, Mapping[str, float]]

# The kinds of question for which the router has separate weights of the embedding.
KINDS = ("yes or no", "how or why", "what or who", "other", "first person")

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
    r"|\bwhat (?:do|does|did) (?:\w+ ){1,6}(?:think|like about|dislike|complain|criticise|object to)\b"
    r"|\bwho (?:is|was|are|were) (?:for|against|in favou?r of|opposed to)\b|\breactions? to\b"
    r"|\bwhat (?:does|is) the (?:public|press) (?:think|say)|\bwhat are (?:\w+ ){1,2}saying (?:about|of|on)\b"
    r"|\bhow (?:do|does|did) (?!i |we |you )(?:\w+ ){1,4}(?:feel about|view|regard|see|remember|react)\b"
    r"|^(?:is|are|was) .*\bworth (?:it|the|\w+ing)\b"
)
_ASKS_FOR_A_DATUM = re.compile(
    r"^(?:(?:and|so|in|on|at|by|from|to|for|about) )?"
    r"(?:who|whose|whom|when|where|"
    r"how (?:many|much|tall|long|deep|old|far|high|wide|fast|hot|warm|cold|thick|loud|late|early|big|large"
    r"|heavy|often)"
    r"|(?:what|which) (?:year|month|day|date|time|century|city|town|country|state|river|company|person|king"
    r"|team|language|metal|planet|element|colou?r|number|percentage|age|channel|award)"
    r"|what (?:is|was|are|were) the (?:\w+ ){0,2}(?:names?|capital|number|term|word|title|height|length|depth"
    r"|weight|speed|age|date|population|currency|distance|temperature|price|symbol|nickname|abbreviation))\b"
)
_YES_OR_NO = lx.MODALS | lx.AUXILIARIES
_OPENINGS = lx.WH_WORDS | _YES_OR_NO
_FIRST_PERSON_REQUESTS = {
    "how do i", "how can i", "how to i", "where can i", "what can i", "where do i", "how would i",
}  # fmt: skip


def extract_features(question: ParsedQuestion) -> dict[str, dict[str, float]]:
    """Return the features of each family by name.

    `words` are runs of one to three words, `shapes` are runs of words in which topics are masked, and
    `letters` are runs of letters; each that occurs has the value 1.0. The values of `form` vary.
    """
    words = list(question.words[:MAX_WORDS])
    return {
        "words": dict.fromkeys(_runs(["<", *words, ">"], 1, 3), 1.0),
        "shapes": dict.fromkeys(_runs(["<", *_mask_topics(words), ">"], 2, 4), 1.0),
        "letters": dict.fromkeys((run for word in words for run in letter_runs(word)), 1.0),
        "form": _form(question, words),
    }


def find_kind(form: Mapping[str, float]) -> int:
    """Return the kind of a question, as an index in `KINDS`, by its form features."""
    opening = next((name for name in form if name.startswith("opens with ")), "").removeprefix("opens with ")
    if "first person" in form:
        return KINDS.index("first person")
    openings = {"how or why": ("how", "why"), "what or who": lx.WH_WORDS, "yes or no": _YES_OR_NO}
    return KINDS.index(next((kind for kind, words in openings.items() if opening in words), "other"))


def letter_runs(word: str) -> list[str]:
    """Return the runs of three to five letters in a word, with a space at each end of the word."""
    padded = f" {word} "
    return [padded[i : i + n] for n in (3, 4, 5) for i in range(len(padded) - n + 1)]


def _runs(words: list[str], shortest: int, longest: int) -> list[str]:
    return [
        " ".join(words[i : i + n])
        for n in range(shortest, longest + 1)
        for i in range(len(words) - n + 1)
        if not (n == 1 and words[i] in "<>")
    ]


def _mask_topics(words: list[str]) -> list[str]:
    """Keep the words that shape a question; replace a number by "#" and each run of other words by "_"."""
    shape: list[str] = []
    for word in words:
        if word in lx.SHAPE_WORDS:
            shape.append(word)
        elif word.isdigit():
            shape.append("#")
        elif not shape or shape[-1] != "_":
            shape.append("_")
    return shape


def _form(question: ParsedQuestion, words: list[str]) -> dict[str, float]:
    """Return the form features of a question with their values; the router's weights have the same names."""
    present = set(words)
    text = " ".join(words)
    topics = [word for word in words if word not in lx.SHAPE_WORDS]
    opening = next((word for word in words if word not in lx.OPENERS), "")
    opening = opening if opening in _OPENINGS else "other"
    has_i_or_my = bool(present & lx.SINGULAR_FIRST)
    has_my_or_our = bool(present & lx.POSSESSIVE_FIRST)
    has_you = bool(present & lx.SECOND_PERSON)
    sentences = [part for part in re.split(r"[.!?\n]+\s", question.text) if part.strip()]
    dangling = question.references.dangling
    dependence = _dependence(question.references, topics)
    has_context = bool(question.user_context.strip())
    form: dict[str, float] = {
        f"opens with {opening}": True,
        **{f"at most {limit} words": len(words) <= limit for limit in (3, 5, 8, 12, 20, 40)},
        **{f"at most {limit} topic words": len(topics) <= limit for limit in (0, 1, 2, 3)},
        "asks yes or no": opening in _YES_OR_NO,
        f"few topic words, opens with {opening}": len(topics) <= 2,
        "asks what something is": _asks_what_something_is(words),
        "ends on a bare definite noun": len(words) > 2 and words[-2] == "the" and words[-1] in topics,
        "first person": has_i_or_my,
        **{f"first person with {modal}": has_i_or_my for modal in sorted(present & lx.MODALS)},
        f"first person opens with {opening}": has_i_or_my,
        "first person, long": has_i_or_my and len(words) > 15,
        **{f"asks {request}": has_i_or_my for request in _FIRST_PERSON_REQUESTS & {" ".join(words[:3])}},
        "my or our": has_my_or_our,
        f"my or our, opens with {opening}": has_my_or_our,
        "we or us": bool(present & lx.PLURAL_FIRST),
        "second person": has_you,
        f"second person opens with {opening}": has_you,
        "asks for views": 2.0 * asks_for_views(text),
        "asks for a name, number, place or date": bool(_ASKS_FOR_A_DATUM.search(text)),
        "opens with a case": bool(_SCENARIO.match(" ".join(words[:8]))),
        "several sentences": len(sentences) > 1,
        "tells before it asks": len(sentences) > 1 and lx.WH_WORDS.isdisjoint(tokenize(sentences[0])[:2]),
        "reference without antecedent": bool(dangling),
        f"reference without antecedent, opens with {opening}": bool(dangling),
        "reference, few topic words": bool(dangling) and len(topics) <= 2,
        **{f"unresolved {word}": True for word in dangling[:3]},
        "reference with antecedent": bool(question.references.resolved),
        "elliptic opening": bool(question.references.openers),
        "vague noun": bool(question.references.vague),
        "has history": question.has_history,
        "leans on history": question.has_history * dependence,
        "stands alone in a conversation": question.has_history and not dependence,
        "has context": has_context,
        "first person with context": has_context and (has_i_or_my or has_my_or_our),
        "leans on context": has_context * dependence,
        "shares words with context": has_context and not question.context_words.isdisjoint(topics),
    }
    return {name: float(value) for name, value in form.items() if value}


def asks_for_views(text: str) -> bool:
    """Return whether a question explicitly asks for views; its text must be in lower case."""
    return bool(_ASKS_FOR_VIEWS.search(text))


def _asks_what_something_is(words: list[str]) -> bool:
    """Return whether a question asks for a definition: "What is osmosis?", "Who was Hannibal?".

    "What is the punishment?" and "What is the main difference?" do not, since they refer to something that
    was named before.
    """
    if words[:1] not in (["what"], ["who"]) or not lx.COPULAS.issuperset(words[1:2]):
        return False
    article, name = (words[2:3], words[3:]) if words[2:3] in (["the"], ["a"], ["an"]) else ([], words[2:])
    if not 1 + (article == ["the"]) <= len(name) <= 4 or name[0] in lx.RELATIVE_WORDS:
        return False
    # The last word of a name may be one that shapes questions, such as "effect" in "the greenhouse effect".
    return lx.SHAPE_WORDS.isdisjoint(name[:-1] or name) and name[-1] not in lx.FUNCTION_WORDS


def _dependence(references: References, topics: list[str]) -> float:
    """Return, from 0 to 1, how much a question depends on what was said before it."""
    if references.dangling:
        return 1.0
    if references.openers:
        return 0.8
    return 0.5 if references.vague or len(topics) <= 1 else 0.0

"""Generate questions of all kinds from the texts of an index; each depends only on a seed and a number."""

# ruff: noqa: E501 - the lists of examples have long lines
from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adaptive_rag.context.groups import MECHANISMS
from adaptive_rag.index.fields import Fields
from adaptive_rag.query.history import MAX_QUESTION
from adaptive_rag.recipes import NAMES as RECIPES
from adaptive_rag.state import ROUTED_TYPES, Chunk, Turn
from adaptive_rag.text.sentences import sentence_spans
from adaptive_rag.where import LONGEST, Kind

# Questions in other languages and scripts, with letters that change their length in lower case.
OTHER_LANGUAGES = (
    "كيف يمكنني تسجيل الدخول إلى النظام؟", "如何配置服务器？请说明步骤。", "מה שעות הפתיחה של המשרד?",
    "ฉันจะเปลี่ยนรหัสผ่านได้อย่างไร", "Wie lange gilt die Gewährleistung für Großgeräte?", "どうやって設定を変更しますか？",
    "Почему это не работает?", "¿Cuál es el plazo? ¡Gracias!", "Πότε άρχισε;", "क्या यह सही है?", "이것은 무엇입니까?",
    "Quels sont les délais d’envoi ?", "İstanbul'da ILIK ığdır", "ﬁnd the oﬃce ﬂoor", "ǅ ŉ ß ẞ ſ K Å",
)  # fmt: skip
# Emoji, combining, invisible and control characters, lone surrogates, and signs of formulas.
SYMBOLS = (
    "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "e\u0301\u0327\u0323", "Z\u0351\u036b\u0343\u036a\u0302" * 9, "\u200b", "\u200d\u200c", "\ufeff",
    "\u202e", "\u2066abc\u2069", "\u200f", "\u00ad", "\0", "\x1b[31m", "\x07", "\u2028", "\u2029", "\x85", "\u3000",
    "\ud800", "\udfff", "\U0010ffff", "\ufffe", "\U000e0041", "½", "x²", "O(n²)", "10⁻³", "H₂O", "∑_{i=1}^{n} x_i",
    "①", "٣٤", "²", "Ⅷ", "…", "—", "„“", "''", '"', "«",
)  # fmt: skip
# Code, and what a query language, a template engine, a regular expression or a Markdown parser may misread.
CODE = (
    "for (int i=0; i<n; i++) { a[i] = b[i+1]; }", "git push --force-with-lease origin main", "curl -sSL x | sh",
    "SELECT * FROM users WHERE name = '' OR 1=1; --", "'; DROP TABLE chunks; --", "text like '%' or 1=1",
    "rm -rf /", "${jndi:ldap://x}", "{{ 7*7 }}", "{% raw %}", "%s%s%n", "<script>alert(1)</script>", "<!-- x -->",
    "(a+)+$", "^(?:.*", "[[:alpha:]]", "\\d+\\", "[", "]", "(((", ")))", "*", "?", "+", "???", "a*b", '"AND"',
    "NOT", "AND OR NOT", "+text:foo~2^3 -bar", "field:[1 TO 5]", "`x`", "```", "```py\nprint(1)\n```", "$$x$$",
    "$x$", "[1]", "[^1]", "[1][2]", "[link](http://a.b/c?d=e&f)", "[[wiki|link]]", "#", "## ", "- ", "> ", "| a | b |",
    "|---|", "---\ntitle: x\n---", ":ref:`x`", ".. note::", "&amp;&nbsp;&#0;", "\\alpha_{1}^{2}", "C:\\Users\\x",
    "\\", "\\n", "%00", "../../../etc/passwd", "null", "None", "NaN", "undefined", "true", "0", "-1", "1e999",
)  # fmt: skip
# Numbers, dates, amounts and versions, also impossible ones.
QUANTITIES = (
    "3.5 km", "1,234,567.89", "1.234.567,89 €", "12/31/2021", "2021-02-30", "31 February", "25:61", "10%", "-40 °C",
    "v1.2.3-rc.1+build", "192.168.0.1", "$5bn", "0x1F", "1/2", "Q3 2021", "9" * 400, "1" + "0" * 30, "§ 4 (2)", "№ 5",
    "5'11\"", "from 3 to 2", "more than 1,000,000,000,000,000,000,000 m", "٢٠٢١", "二〇二一年", "the 1980s", "MMXXI",
)  # fmt: skip
FOLLOW_UPS = (
    "And in 2021?", "why?", "who said that", "and the other one?", "What about it?", "How so?", "more", "go on", "it",
    "And for children?", "the second", "Are you sure?", "really", "no", "yes", "thanks", "hello", "ok", "Say it shorter.",
    "What did I ask before?", "In which year was that?", "Compare them.", "that", "and?", "Why not?", "Is that all?",
)  # fmt: skip
# Templates of user contexts.
USER_CONTEXTS = (
    "I am {noun} and work with {noun2}.", "{noun}", "My {noun} is broken; I am 35 years old and live in Ohio.",
    "User: what is {noun}?\nAssistant: Do you mean {noun2}?\nUser: yes", "I do not use {noun}.", "{sentence}",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A question with its context, history and settings."""

    number: int
    kind: str
    input: dict[str, Any]
    settings: dict[str, Any] = field(default_factory=dict)
    reply: str = ""  # the kind of reply of a scripted chat model; "" means no model
    is_follow_up: bool = False  # whether another question is asked first, to be its history
    streams: bool = False
    refusable: bool = False  # whether its input may be refused


class Material:
    """The parts of an index's texts from which questions are made."""

    def __init__(self, chunks: Sequence[Chunk], columns: Fields) -> None:
        texts = [chunk["text"] for chunk in chunks]
        self.texts = texts
        self.sentences = [text[a:b] for text in texts for a, b in sentence_spans(text) if b - a > 2] or texts
        counts = Counter(word for text in texts for word in re.findall(r"[^\W\d_]{3,}", text))
        words = sorted(counts)
        self.words = words or ["word"]
        self.rare = [word for word in words if counts[word] == 1] or self.words
        self.long = sorted(self.words, key=len)[-200:]
        sections = {part.strip() for chunk in chunks for part in (chunk["section"] or "").split(">")}
        self.headings = sorted(sections - {""}) or self.words
        lines = (line for text in texts for line in text.splitlines())
        self.rows = sorted({line for line in lines if line.count("|") > 1 or line.count(": ") > 1}) or texts
        self.names = sorted({chunk["source"] for chunk in chunks})
        self.fields = {
            name: (kind, [value for value in _flatten(columns.values(name)) if value is not None])
            for name, kind in columns.kinds().items()
        }


QuestionMaker = Callable[[random.Random, Material], str]


def _cut_sentence(rng: random.Random, m: Material) -> str:
    text = rng.choice(m.sentences)
    start, end = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    return text[start:end] or text


def _misspell_sentence(rng: random.Random, m: Material) -> str:
    words = [_misspell_word(rng, word) for word in rng.choice(m.sentences).split()[:20]]
    return " ".join(words) + rng.choice(["", "?"])


def _misspell_word(rng: random.Random, word: str) -> str:
    """Return the word, or leave out, double, replace or swap a letter."""
    i = rng.randrange(len(word))
    slips = (word[:i] + word[i + 1 :], word[:i] + word[i] + word[i:], word[:i] + "e" + word[i + 1 :])
    return rng.choice([word, *slips, word[:i] + word[i : i + 2][::-1] + word[i + 2 :]])


def _insert_symbols(rng: random.Random, m: Material) -> str:
    words = rng.choice(m.sentences).split()
    for _ in range(rng.randrange(1, 5)):
        words.insert(rng.randrange(len(words) + 1), rng.choice(SYMBOLS))
    return rng.choice([" ", ""]).join(words)


def _choose_example(rng: random.Random, m: Material, examples: Sequence[str]) -> str:
    text, sentence = rng.choice(examples), rng.choice(m.sentences)
    return rng.choice([text, f"What is {text}?", f"{sentence} {text}", f"{text} {rng.choice(m.words)}?"])


def _repeat_to_length(rng: random.Random, m: Material) -> str:
    word = rng.choice(m.words)
    part = rng.choice(
        [word, "a", "ab", "é", "漢", "1", "-", "?", "(", "[1]", "\u0301", "A.", "* ", "\n", "'s "]
    )
    length = rng.choice([100, 1000, MAX_QUESTION, MAX_QUESTION + 1])
    return (part * (length // len(part) + 1))[:length]


def _join_many_words(rng: random.Random, m: Material) -> str:
    text = (
        " ".join(rng.choices(m.words, k=2000)) if rng.random() < 0.5 else " ".join(rng.sample(m.texts, 1) * 9)
    )
    return text[: rng.choice([MAX_QUESTION, MAX_QUESTION, 2 * MAX_QUESTION])]


def _from_templates(*templates: str) -> QuestionMaker:
    return lambda rng, m: rng.choice(templates).format(
        h=rng.choice(m.headings), h2=rng.choice(m.headings), w=rng.choice(m.words), w2=rng.choice(m.rare),
        s=rng.choice(m.sentences), name=rng.choice(m.names),
    )  # fmt: skip


KINDS: Mapping[str, QuestionMaker] = {
    "sentence": lambda rng, m: rng.choice(m.sentences),
    "cut": _cut_sentence,
    "joined": lambda rng, m: rng.choice([" ", "\n", "; ", "\n\n"]).join(rng.choices(m.sentences, k=3)),
    "keywords": lambda rng, m: " ".join(rng.choices(m.words, k=rng.randrange(1, 6))),
    "rare words": lambda rng, m: " ".join(rng.choices(m.rare, k=rng.randrange(1, 4))),
    "long words": lambda rng, m: f"What is {rng.choice(m.long)}?",
    "misspelt": _misspell_sentence,
    "another language": lambda rng, m: _choose_example(rng, m, OTHER_LANGUAGES),
    "signs": _insert_symbols,
    "code": lambda rng, m: _choose_example(rng, m, CODE),
    "amounts": lambda rng, m: _choose_example(rng, m, QUANTITIES),
    "row": lambda rng, m: rng.choice(m.rows),
    "cell": lambda rng, m: rng.choice(re.split(r"\||: ", rng.choice(m.rows))) or "|",
    "heading": lambda rng, m: rng.choice(m.headings) + rng.choice(["", "?", "??", ":"]),
    "file name": _from_templates("{name}", "What does {name} say about {w}?", "{name}: {s}", "Summarise {name}"),
    "factual": _from_templates(
        "What is {h}?", "When was {w2} made?", "Who wrote {h}?", "How many {w} are there?",
        "What is the {w} of {h} in {w2}?", "Is it true that {s}?", "List all {h}."),
    "analytical": _from_templates(
        "How does {h} affect {h2}?", "Why does {w} lead to {w2}?", "Compare {h} with {h2}.",
        "What is the difference between {h} and {h2}?", "Explain {h} step by step."),
    "opinion": _from_templates(
        "What do people think of {h}?", "Should {w} be used for {h}?", "Is {h} better than {h2}?",
        "What are the arguments for and against {h}?", "Who is against {w}?", "What did {w2} say?"),
    "contextual": _from_templates(
        "I am {w}, how should I use {h}?", "My {w} fails. What should I do about {h}?",
        "As a {w}, do I need {h}?", "We have {w2}. How do we set up {h} for {h2}?"),
    "two in one": _from_templates(
        "What is {h} and how does {h2} work?", "What is {w}? And who made {w2}? Why?",
        "{s} Is that so? And what about {h}?", "1. {h}\n2. {h2}\n3. {w}?"),
    "follow-up": lambda rng, m: rng.choice(FOLLOW_UPS),
    "one character": lambda rng, m: rng.choice([rng.choice("a1?.!-|[*\\é漢ب🙂"), rng.choice(SYMBOLS)[:1]]),
    "blanks": lambda rng, m: rng.choice(["", " ", "\n\t ", "\u3000", "\u200b", "\u2028", "\xa0" * 40]),
    "very long": _repeat_to_length,
    "many words": _join_many_words,
}  # fmt: skip
# Every other kind, which real questions resemble more, is ten times as frequent as these.
RARE_KINDS = ("very long", "many words", "blanks")


def make_case(number: int, seed: int, material: Material, replies: Sequence[str]) -> Case:
    """Return the question with a number; the same seed, number and texts give the same question."""
    rng = random.Random(f"{seed}/{number}")
    kind = rng.choices(list(KINDS), [1 if kind in RARE_KINDS else 10 for kind in KINDS])[0]
    question = KINDS[kind](rng, material)
    request: dict[str, Any] = {"question": question}
    if rng.random() < 0.25:
        request["user_context"] = _make_user_context(rng, material)
    is_follow_up = rng.random() < (0.3 if kind == "follow-up" else 0.05)
    if not is_follow_up and rng.random() < (0.5 if kind == "follow-up" else 0.15):
        request["history"] = _make_history(rng, material)
    settings: dict[str, Any] = {"strict": True}
    if route := rng.choice([None, *ROUTED_TYPES]):
        settings["route"] = route
    settings |= _make_settings(rng)
    is_broken = False
    if rng.random() < 0.15:
        is_broken = rng.random() < 0.1
        settings["where"] = _make_broken_condition(rng) if is_broken else _make_condition(rng, material)
    return Case(
        number, kind, request, settings,
        reply=rng.choice(replies) if rng.random() < 0.15 else "",
        is_follow_up=is_follow_up,
        streams=rng.random() < 0.1,
        refusable=is_broken or not 0 < len(question.strip()) <= MAX_QUESTION,
    )  # fmt: skip


def _make_user_context(rng: random.Random, m: Material) -> str:
    if rng.random() < 0.1:
        return rng.choice(
            [" ".join(rng.choices(m.words, k=1500)), rng.choice(SYMBOLS), rng.choice(OTHER_LANGUAGES), "\n"]
        )
    noun, noun2, sentence = rng.choice(m.words), rng.choice(m.rare), rng.choice(m.sentences)
    return rng.choice(USER_CONTEXTS).format(noun=noun, noun2=noun2, sentence=sentence)


def _make_history(rng: random.Random, m: Material) -> list[Turn]:
    """Return turns whose texts are of any kind; two turns in a row may be the user's."""
    kinds = [kind for kind in KINDS if kind not in RARE_KINDS or rng.random() < 0.05]
    turns: list[Turn] = []
    for number in range(rng.randrange(1, 7)):
        role: Any = "user" if number % 2 == 0 or rng.random() < 0.1 else "agent"
        turns.append({"role": role, "text": KINDS[rng.choice(kinds)](rng, m)})
    return turns


def _make_settings(rng: random.Random) -> dict[str, Any]:
    draw = rng.random()
    if draw < 0.15:
        return {"without": [rng.choice(sorted(MECHANISMS))]}
    if draw < 0.22:
        return {"recipe": rng.choice(RECIPES)}
    if draw < 0.3:
        return {"k": rng.choice([1, 2, 3, 20, 100, 1000])}
    if draw < 0.35:
        return {"profile": rng.choice(["conservative", "balanced", "aggressive"])}
    if draw < 0.45:
        name, values = rng.choice(_RETRIEVAL_SETTINGS)
        return {"retrieval": {name: rng.choice(values)}}
    return {}


# Retrieval settings, and the values that a question may have of each.
_RETRIEVAL_SETTINGS: tuple[tuple[str, Sequence[Any]], ...] = (
    ("fusion", ("reciprocal-rank", "dense", "sparse")),
    ("diversity", ("coverage", "none")),
    ("alpha", (0.0, 1.0)),
    ("alpha_by", ("intent",)),
    ("tfidf", (0.5, 1.0)),
    ("qa_views", (True,)),
    ("draw", ("in-turn",)),
    ("pool", (1, 5)),
    ("branch_candidates", (1, 2)),
    ("lexical", ("okapi",)),
)


def _make_condition(rng: random.Random, m: Material) -> str:
    """Return one or two comparisons of fields with values that they have."""
    fields = sorted(m.fields.items())
    comparisons = [_make_comparison(rng, *rng.choice(fields)) for _ in range(rng.randrange(1, 3))]
    condition = rng.choice([" and ", " or ", " and not "]).join(comparisons)
    return condition if len(condition) <= LONGEST else "page is known"


def _make_comparison(rng: random.Random, name: str, field: tuple[Kind, list[Any]]) -> str:
    kind, values = field
    if "`" in name or not values or rng.random() < 0.1:
        return "page is known"
    value = rng.choice(values)
    if kind == "yes or no":
        return f"`{name}` = {'yes' if value else 'no'}"
    if kind == "number":
        return f"`{name}` {rng.choice(['=', '!=', '<', '>='])} {value:.4f}"
    if kind == "date":
        return f"`{name}` {rng.choice(['=', '<', '>='])} {value[: rng.choice([4, 7, 10])]}"
    text = str(value).replace('"', "*")[:200]
    return rng.choice(
        [f'`{name}` like "{text[:10]}*"', f'`{name}` = "{text}"', f'`{name}` not in ("{text}")']
    )


def _make_broken_condition(rng: random.Random) -> str:
    return rng.choice(
        ["page <", "nofield = 1", "page = abc", "((((", "' or 1=1 --", "x" * (LONGEST + 1), "[1]"]
    )


def _flatten(values: Sequence[Any]) -> Iterator[Any]:
    return (part for value in values for part in (value if isinstance(value, list) else [value]))

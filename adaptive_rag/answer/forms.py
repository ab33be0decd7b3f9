"""The form of answer that a question asks for (a person, a time, a sum), and whether a sentence has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from adaptive_rag.text.ends import read_ends
from adaptive_rag.text.words import stem, terms

AnswerForm = Literal["definition", "person", "time", "place", "money", "number", "list", "other"]

_DEFINITION = re.compile(
    r"^(?:so |and |but |please )*(?:what(?:'s|’s| is| are| was| were)|define|what does|what do|explain what|"
    r"tell me what|describe what|who is|who was|who were)\s+(?:the (?:meaning|definition|concept|idea) of\s+|"
    r"meant by\s+|is meant by\s+)?(?:an?\s+|the\s+)?(?P<subject>.+?)"
    r"(?:\s+(?:mean|stand for|is|are))?\s*(?:,? and (?:why|how|what|when|where)\b.*)?[?.!]*$",
    re.IGNORECASE,
)
# "What does the roof cost?", "the fee for a key"; not "How much time does it cost?", "how much sugar".
_PRICED = r"(?:costs?|price|fee|fare|rent|rate|charge|fine|deposit|salary|wage|budget|worth)"
_FORMS: tuple[tuple[AnswerForm, str], ...] = (
    (
        "money",
        rf"\b(?:what|how much) (?:do(?:es)?|did|would|will|can|is|are|was|were)\b.*\b(?:{_PRICED}|pay|paid|"
        rf"spen[dt]|earn|raise)\b|\bhow much (?:money|is|are|was|were)\b|"
        rf"\bwhat(?:'?s)? (?:the |a )?{_PRICED}\b|^(?:the )?{_PRICED}\b",
    ),
    (
        "number",
        r"\bhow (?:many|much|long|old|far|tall|big|large|high|deep|often|fast|heavy)\b|"
        r"\bwhat (?:percentage|number|share|proportion|temperature|amount|population|fraction|age|speed)\b",
    ),
    ("time", r"\bwhen\b|\b(?:what|which) (?:year|century|decade|date|day|month|era|time)\b"),
    (
        "list",
        r"\bwhich ones\b|\bname (?:the|some|two|three|four|five)\b|^list\b|\bwhat are (?:the|some)\b|"
        r"\bwhat (?:kinds|types|forms|sorts)\b",
    ),
    (
        "person",
        r"\bwho\b|\bwhose\b|\bwhich (?:person|scientist|mathematician|king|author|man|woman|philosopher|"
        r"physicist|president)\b",
    ),
    ("place", r"^where\b|\b(?:what|which) (?:city|country|town|state|place|region|river|island|continent)\b"),
)
_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_TIME = re.compile(
    r"\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,4}\??\s*(?:b\.?\s?c|a\.?\s?d|bce|ce)\b|\bcentur(?:y|ies)\b|"
    rf"\b{_MONTH}\s+\d|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b|"
    rf"\b(?:in|since|until|by|every|each) {_MONTH}\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|"
    r"\b\d{1,2}:\d{2}\b|\b\d{1,2}(?:\.\d{2})? ?(?:am|pm|o['’]clock)\b|"
    r"\b(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|last) (?:working )?day of\b|"
    r"\b\d{1,2}(?:st|nd|rd|th) of\b|\b(?:noon|midnight|spring|summer|autumn|winter)\b",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"[$£€¥]\s?\d|\d\s?[€$£¥]|\b(?:usd|eur|gbp|chf)\b|\d ?p\b|"
    r"\d(?: (?!per )\w+)? (?:pounds?|euros?|dollars?|cents?|pence|francs?|yen|million|billion)\b|"
    r"\b(?:price|cost|fee|amount)\b[^.]{0,30}\d|\b(?:free|no (?:charge|cost|fee))\b",
    re.IGNORECASE,
)
_LIFE = re.compile(
    r"\(\D{0,12}\d{2,4}\??\s*(?:[–-]|to)\s*\D{0,8}\d{2,4}|\b(?:born|died|birth|death)\b", re.IGNORECASE
)
_LIFE_ASKED = re.compile(r"\b(?:born|birth|die|died|death|live|lived)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;:)’'] )(?:\(?[A-Z][\w'’-]+)|^[A-Z][\w'’-]+ (?:[A-Z]|of [A-Z])")
_PLACE = re.compile(
    r"\b(?:in|at|near|from|of|to|on) (?:the )?[A-Z]\w+|"
    r"^(?!It |He |She |They |This |That |There )[A-Z]\w+ (?:is|was|has|had|[a-z]+ed)\b|"
    r"\b(?:behind|beside|opposite|above|below|under|next to|in front of) (?:the|an?|our|your) \w+|"
    # a file or an address on the web
    r"(?<![\w/])(?:~|\.{1,2})?/[\w.-]+|\bhttps?://\w"
)
_DIGIT = re.compile(
    r"\d+(?:[.,]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|dozen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|hundred|thousand|million|billion|half|third|quarter)\b",
    re.IGNORECASE,
)
# A year is no count.
_COUNT = re.compile(rf"(?<!\d)(?!(?:1[5-9]|20)\d\ds?\b)(?:{_DIGIT.pattern})", re.IGNORECASE)
_LENGTH = r"(?:mm|cm|m|km|inch(?:es)?|foot|feet|yards?|(?:centi|milli|kilo)?met(?:re|er)s?|miles?)\b"
_DURATION = r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|fortnights?|months?|years?|decades?)\b"
# What stands after the number that a question asks for.
_UNITS = {
    "long": f"(?:{_DURATION}|{_LENGTH})",
    "old": _DURATION,
    "far": _LENGTH,
    "tall": _LENGTH,
    "high": _LENGTH,
    "deep": _LENGTH,
    "wide": _LENGTH,
    "heavy": r"(?:m?g|kg|kilo(?:gram)?s?|grams?|tons?|tonnes?|pounds?|lbs?|stone|ounces?|oz)\b",
}
# "When the makers brought out their own cars, which policy ended?" asks for a policy.
_ASKED_LAST = re.compile(
    r"^(?:when|where|while|if|after|before|although|as)\b.*, ((?:\w+ )?(?:what|which|who|whose|how|why)\b.*)",
    re.I,
)
_HOW = re.compile(rf"\bhow ({'|'.join(_UNITS)})\b", re.IGNORECASE)
_COPULA = (
    r"(?:(?:is|are|was|were|can be)(?: (?:defined|known|called))?|refers? to|means?|denotes?|describes?|"
    r"aims? to|consists? of|involves?|focus(?:es)? on|represents?|encompass(?:es)?|ensures?|stands? for)"
)
_OPENING = re.compile(
    r"^[“\"']?(?:an?\s+|the\s+)?(?P<name>[^,.;:]{2,80}?)(?:,[^,]{0,60},)?\s+" + _COPULA + r"\b", re.IGNORECASE
)


@dataclass(frozen=True)
class ExpectedForm:
    """The form of answer that a question asks for, and the subject that it wants defined or counted."""

    form: AnswerForm
    subject: str = ""
    about_a_life: bool = False
    unit: str = ""  # a pattern of what stands after the number: weeks or miles for "how long"

    @property
    def is_sure(self) -> bool:
        """Tell whether a sentence shows that it has the form: a name, a place, a time, a sum or a number."""
        return self.form in ("person", "place", "time", "money", "number")

    def fit(self, sentence: str, question_terms: set[str]) -> float:
        """Return how well a sentence has the form, 0 to 1; a name in the question does not answer "who"."""
        match self.form:
            case "definition":
                return _defines(self.subject, sentence)
            case "time":
                dated = float(bool(_TIME.search(sentence)))
                return dated if not self.about_a_life or _LIFE.search(sentence) else 0.4 * dated
            case "money":
                return float(bool(_MONEY.search(sentence)))
            case "number":
                return _counts(self.subject, sentence, self.unit)
            case "place":
                return float(bool(_PLACE.search(sentence)))
            case "person":
                names = [name.lower().strip("(") for name in _NAME.findall(sentence)]
                return float(any(stem(name.split()[0]) not in question_terms for name in names))
            case "list":
                return min(1.0, 0.3 * len(re.findall(r",|;|\band\b|\(\d\)", sentence)))
            case _:
                return 0.0


def expected_form(question: str) -> ExpectedForm:
    """Read from a question's words which form its answer has."""
    text = " ".join(read_ends(question).split())
    if last := _ASKED_LAST.match(text):
        text = last[1]
    definition = _DEFINITION.match(text)
    subject = definition["subject"] if definition else ""
    form = next((form for form, pattern in _FORMS if re.search(pattern, text, re.IGNORECASE)), None)
    if form == "number":
        counted = re.search(r"\bhow many (?:\w+ )??(\w+)", text, re.IGNORECASE)
        measured = _HOW.search(text)
        unit = _UNITS[measured[1].lower()] if measured else ""
        return ExpectedForm(form, counted[1] if counted else "", unit=unit)
    # "Who was Hypatia?" asks what to know about a person, not for a name.
    if form and not (form == "person" and _is_subject(subject)):
        return ExpectedForm(form, about_a_life=bool(_LIFE_ASKED.search(text)))
    if not form and re.match(r"what (?:is|was|are|were) the\b", text, re.IGNORECASE):
        # "What is the height of the wall?": the sentence wanted says what the height is.
        subject = re.split(r"\s+(?:of|at|in|for|on|from|during|called)\b", subject)[0]
    if not _is_subject(subject):
        return ExpectedForm("other")
    return ExpectedForm("definition", subject.strip(" '\"“”‘’"))


def _is_subject(subject: str) -> bool:
    """Tell whether a phrase names a thing rather than a relation ("the role of X in Y")."""
    return 0 < len(subject.split()) <= 5 and not re.search(
        r"\b(?:of|in|for|between|on|used|done|do|role|to|about|by)\b", subject, re.I
    )


def _counts(counted: str, sentence: str, unit: str) -> float:
    """Return 1 where a number stands before what is counted or its unit, less where it stands elsewhere."""
    if unit and re.search(rf"(?:{_DIGIT.pattern})[ -]?{unit}", sentence, re.IGNORECASE):
        return 1.0
    if counted and any(
        stem(counted.lower()) in terms(sentence[match.end() : match.end() + 40])
        for match in _DIGIT.finditer(sentence)
    ):
        return 1.0
    if not _COUNT.search(sentence):
        return 0.0
    return 0.5 if counted or unit else 1.0


def _defines(subject: str, sentence: str) -> float:
    """Return 1 where the sentence opens by defining the subject, less where it names or describes it."""
    subject = re.sub(r"\s*\([^)]*\)", "", subject).strip()
    wanted = set(terms(subject))
    if not wanted:
        return 0.0
    opening = _OPENING.match(sentence)
    if opening and wanted <= (name := set(terms(opening["name"]))):
        # Few other words in front of the verb: the sentence is about the subject itself. What merely
        # happens to it ("is used in both") says less than what it is.
        happens = re.match(r"\s+(?!called|known|defined)\w+(?:ed|en|wn|und)\b", sentence[opening.end() :])
        return (1.0 if len(name - wanted) <= 2 else 0.5) - (0.4 if happens else 0.0)
    # "... quantum bits, or qubits", "... collaborative settings (cobots)", "a qubit can exist ..."
    spelled = re.escape(subject) + r"(?:s|es)?\b"
    if re.search(
        rf"(?:\bcalled|known as|named|termed|, or|\()\s*(?:an?\s|the\s)?[“\"']?{spelled}", sentence, re.I
    ):
        return 0.8
    if re.search(rf"\b(?:an?|its|his|her|their)\s(?:\w+\s)?{spelled}\s(?:of|is|was)\b", sentence, re.I):
        return 0.8
    if re.search(rf"(?<![\w-])(?:an?|the)\s{spelled}\s(?:{_COPULA}|can|has|have)\b", sentence, re.I):
        return 0.6
    return 0.2 if wanted <= set(terms(" ".join(sentence.split()[: len(subject.split()) + 3]))) else 0.0

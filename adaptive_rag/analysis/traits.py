"""Determines the intent of a question, its complexity and its entities, for the query analysis."""

import re

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.analysis.question_types import TYPES
from adaptive_rag.state import Complexity, Intent, RoutedType

MAX_ENTITIES = 12

_PERSON = r"(?:i|you|we|one|people|someone|u)"
_BETTER = "better|worse|faster|cheaper|safer|stronger"

# The first intent with a matching pattern is chosen, so the most specific wording comes first. The patterns
# match the joined words of `tokenize`: lower case, contractions written out, no punctuation.
_INTENT_PATTERNS: dict[Intent, tuple[str, ...]] = {
    "troubleshooting": (
        r"\b(?:troubleshoot\w*|debug\w*|error|errors|exception|traceback|crash(?:es|ed|ing)?|"
        r"freez(?:es|ing)|froze|frozen screen|glitch\w*|malfunction\w*|overheat\w*)\b",
        r"\b(?:does|do|did|is|are|will|would|can) not (?:\w+ )?(?:work|working|start|starting|turn|turning|"
        r"boot|booting|load|loading|connect|connecting|open|opening|charge|charging|respond|responding|print|printing|"
        r"recogni[sz]\w+|detect\w*|show|showing|close|run|running|log)\b",
        r"\b(?:not working|no (?:sound|signal|power|picture|output|response)|stopped \w+ing|"
        r"keeps? \w+ing|broken|is stuck|get stuck|went wrong|is wrong with)\b",
        r"\b(?:why|what)\b.*\b(?:hum|hums|humming|buzz|buzzes|buzzing|hiss|hisses|hissing|leak|leaks|leaking|"
        r"rattle|rattles|squeak|squeaks|fail|fails|failing|stall|stalls)\b(?! of| to\b)",
        rf"\bhow (?:to|(?:do|can|would) {_PERSON}) (?:fix|repair|solve|diagnose|get rid of|stop)\b",
    ),
    "comparison": (
        r"\b(?:differences?|differ|differs|different from|compar\w+|contrast|versus|vs|similarit\w+|"
        r"distinguish\w*|distinction|pros and cons|advantages (?:and|or) disadvantages|instead of|"
        r"rather than|same as|same thing as|(?:better|worse|faster|cheaper|safer|more \w+) than)\b",
        rf"\bwhich (?:\w+ )?(?:is|are|one is|has) (?:the )?(?:{_BETTER}|more)\b",
        rf"\b(?:is|are|was|were) .*\b(?:{_BETTER})\b.*\bor\b",
    ),
    "procedural": (
        rf"\bhow (?:to|(?:do|can|should|would|could|might|did|will) {_PERSON}|"
        r"does (?:one|someone))\b(?! know\b| tell\b)",
        r"\b(?:steps? (?:to|for|in|of)|procedure for|instructions?|tutorial|walk me through|walk through|"
        r"guide (?:to|for)|recipe for|need to do to|set up|install|installing|configure|configuring|"
        r"(?:best|easiest|right|correct|fastest|proper|safest) ways? (?:to|of|for))\b",
    ),
    "technical": (
        r"\b(?:specifications?|specs?|parameters?|protocols?|algorithms?|api|implementation|formula|equation|"
        r"voltage|wattage|watts?|impedance|ohms?|frequency response|sample rate|bandwidth|latency|throughput|"
        r"compatib\w+|firmware|compiler|databases?|default port|datasheet|pinout|tolerance|torque|"
        r"maximum (?:\w+ ){0,2}(?:load|range|rating|temperature|power|voltage)|dosage|"
        r"python|javascript|java|sql|linux|kernel|tcp|udp|https?|usb|hdmi|xlr|gpu|cpu|html|css|regex)\b",
    ),
    "factual": (
        r"\bhow (?:many|much|long|far|old|tall|big|often|high|deep|fast|wide|heavy|hot|large)\b",
        r"^(?:\w+ ){0,3}(?:who|whom|whose|when|where)\b(?!.*\b(?:why|how)\b)",
        r"^(?:in|at|on|by|from|to) (?:which|what)\b(?! (?:ways?|extent|respects?)\b)",
        r"^(?:name|list|define|identify|state)\b",
    ),
    "conceptual": (
        r"\b(?:why|explain|describe|discuss|summari[sz]e|analy[sz]e|outline|evaluate|elaborate|assess)\b",
        r"\bhow (?:come|does|do|did|is|are|was|were|has|have|could|can|might|will|would|should)\b",
        r"\b(?:concepts?|theor(?:y|ies)|principles?|role of|purpose of|function of|impacts?|effects?|"
        r"influences?|causes?|caused|reasons?|implications?|consequences?|relationship|significance|importance|"
        r"views|perspectives?|opinions?|arguments?|ethical|moral|debate|benefits|risks|challenges)\b",
        r"\b(?:should|ought|think about|think of|believe)\b",
        r"^what is (?:an? )?(?:\w+ ){1,2}(?:learning|intelligence|theory|reasoning)$",
    ),
}
_INTENTS = [(intent, re.compile("|".join(patterns))) for intent, patterns in _INTENT_PATTERNS.items()]

_DEMANDING = re.compile(
    r"\b(?:compar\w+|contrast|analy[sz]e|evaluate|assess|critically|discuss|relationship|relate|implications?|"
    r"consequences|trade ?offs?|interact\w*|influence\w*|impacts?|affects?|effects? of|factors|mechanisms?|"
    r"differences? between|pros and cons|advantages and disadvantages|to what extent|why)\b"
)
_SIMPLE_OPENING = re.compile(
    r"^(?:who|when|where|is|are|was|were|did|does|do|has|have|"
    r"what (?:is|are|was|were|year|time|colou?r|day|date)|"
    r"how (?:many|much|old|long|far|tall|big|high)|which|name|define)\b"
)
# The points at which a question becomes intermediate, and advanced.
_INTERMEDIATE, _ADVANCED = 2.25, 4.0

_QUOTED = re.compile(r"[\"“]([^\"”\n]{2,80})[\"”]|(?<!\w)'([^'\n]{2,60})'(?!\w)")
# A name: capitalized words, with small words such as "of" and "von" between them.
_NAME = re.compile(
    r"\b[A-Z][\w'&.+-]*"
    r"(?:(?: (?:of|de|von|van|del|da|di|the|and|&) (?:the )?|[ -])(?=[A-Z0-9])[A-Z0-9][\w'&.+-]*)*"
)
_ACRONYM = re.compile(
    r"\b(?:[A-Z]{2,}[A-Za-z]*\d*|[A-Za-z]*\d[\w.-]*[A-Za-z][\w.-]*|[A-Za-z]+-?\d[\w.-]*|[a-z]+[A-Z]\w*)\b"
)
_YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})s?\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+|\n\s*)[\"'“(\[]*$")
# Words that have a capital at the start of a sentence, but are not part of a name.
_NO_NAMES = lx.SHAPE_WORDS | lx.word_set(
    "however therefore according write find define provide state identify"
)


def find_intent(words: tuple[str, ...], query_type: RoutedType) -> Intent:
    """Return the intent of a question by its words, or else by its type."""
    text = " ".join(words)
    return next((intent for intent, pattern in _INTENTS if pattern.search(text)), TYPES[query_type].intent)


def measure_complexity(
    words: tuple[str, ...], text: str, query_type: RoutedType, entities: list[str]
) -> Complexity:
    """Return the complexity of a question by its length, its parts and what it asks for."""
    joined = " ".join(words)
    points = min(len(set(words) - lx.SHAPE_WORDS) / 4, 2.5)
    points += min(1.0 * len(set(_DEMANDING.findall(joined))), 2.0)
    points += min(0.5 * sum(word in ("and", "or", "while", "whereas", "given", "if") for word in words), 1.5)
    points += min(0.75 * max(text.count("?") - 1, 0), 1.5)
    points += 0.5 * (len(words) > 25) + 0.25 * (len(entities) > 2)
    points += TYPES[query_type].points
    if _SIMPLE_OPENING.match(joined) and len(words) <= 8:
        points -= 0.75
    if points >= _ADVANCED:
        return "advanced"
    return "intermediate" if points >= _INTERMEDIATE else "basic"


def find_entities(text: str) -> list[str]:
    """Return names, acronyms, model numbers, years and quoted phrases, in order of appearance.

    In a text in capitals, or one in which every word begins with a capital, capitals do not mark names.
    """
    entities = [(m.start(), m[1] or m[2]) for m in _QUOTED.finditer(text)]
    entities += [(m.start(), m[0]) for m in _YEAR.finditer(text)]
    if not _is_in_capitals(text):
        entities += [(m.start(), m[0]) for m in _ACRONYM.finditer(text)]
        if not _is_in_title_case(text):
            entities += _find_names(text)
    distinct: list[str] = []
    for _, entity in sorted(entities, key=lambda item: (item[0], -len(item[1]))):
        entity = entity.strip(" .,-'")
        whole_words = re.compile(rf"(?<!\w){re.escape(entity.casefold())}(?!\w)")
        if len(entity) > 1 and not any(whole_words.search(other.casefold()) for other in distinct):
            distinct.append(entity)
    return distinct[:MAX_ENTITIES]


def _find_names(text: str) -> list[tuple[int, str]]:
    names = []
    for match in _NAME.finditer(text):
        words = match[0].split(" ")
        start = match.start()
        begins_sentence = bool(_SENTENCE_START.search(text[:start]))
        while words and words[0].casefold().removesuffix("'s") in _NO_NAMES:
            start += len(words.pop(0)) + 1
            begins_sentence = False
        # The first word of a sentence has a capital anyway, so alone it is not a name.
        is_alone = len(words) == 1 and not words[0][1:].isupper() and text.strip() != match[0]
        if words and not (begins_sentence and is_alone):
            names.append((start, " ".join(words).removesuffix("'s")))
    return names


def _is_in_capitals(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return len(letters) > 8 and sum(character.isupper() for character in letters) > 0.7 * len(letters)


def _is_in_title_case(text: str) -> bool:
    words = re.findall(r"[A-Za-z][a-z]+", text)
    function_words = [word for word in words[1:] if word.lower() in lx.FUNCTION_WORDS]
    return (
        len(words) > 3
        and len(function_words) > 1
        and all(word[0].isupper() for word in function_words if len(word) > 3)
        and sum(word[0].isupper() for word in words) > 0.75 * len(words)
    )

"""Part of the query analysis: what the asker wants to do with the answer, by the form of the question."""

from __future__ import annotations

import re

from adaptive_rag.state import Intent, QueryType

# The first pattern that is found decides; the order runs from the most telling wording to the least.
_PATTERNS: tuple[tuple[Intent, re.Pattern[str]], ...] = tuple(
    (intent, re.compile(pattern))
    for intent, pattern in (
        (
            "troubleshooting",
            r"\b(?:troubleshoot\w*|debug\w*|diagnos\w+|error|errors|exception|traceback|stack ?trace|crash\w*|freez\w+|"
            r"fail(?:s|ed|ing)?\b(?! states?)|broken|stuck|bug|bugs|fix(?:es|ed|ing)?|repair\w*|"
            r"(?:does|do|did|is|are|will|would|can) not (?:work\w*|start\w*|turn\w*|boot\w*|load\w*|connect\w*|open\w*|charg\w*|respond\w*|"
            r"print\w*|play\w*|recogni\w+|detect\w*|show\w*|close\w*|run\w*)|"
            r"not working|no (?:sound|signal|power|picture|output)|stopped \w+ing|keeps? \w+ing|"
            r"(?:hum|hums|humming|buzz\w*|hiss\w*|overheat\w*|leak(?:s|ing)|rattl\w+|squeak\w*)\b)",
        ),
        (
            "comparison",
            r"\b(?:differences?|differ(?:s|ent from)?|compar\w+|contrast|versus|vs|similarit\w+|distinguish\w*|distinction|"
            r"better than|worse than|(?:is|are) (?:\w+ ){1,4}(?:better|worse|faster|cheaper|safer|stronger|bigger)\b.*\bor\b|"
            r"which (?:is|are|one is) (?:better|best|worse|faster|cheaper|safer)|pros and cons|"
            r"advantages (?:and|or) disadvantages|(?:instead of|rather than)|same (?:thing )?as)\b",
        ),
        (
            "procedural",
            r"(?:^(?:\w+ ){0,3}how (?:to|do (?:i|you|we|people|u)|can (?:i|you|we|one|u)|should (?:i|you|we|one|people)|would (?:i|you|we|one)|does one|might (?:i|we|one))\b|"
            r"\b(?:steps? (?:to|for|in|of)|procedure|instructions?|tutorial|walk me through|guide (?:to|for|me)|"
            r"recipe for|(?:best|easiest|right|correct|fastest|good|safe|proper) ways? (?:to|of|for)|what do i (?:need to )?do to|"
            r"set ?up|install|configure)\b)",
        ),
        (
            "technical",
            r"\b(?:specifications?|specs?|parameters?|configuration|protocol|algorithm|api|implementation|architecture|"
            r"formula|equation|voltage|wattage|watts?|impedance|ohms?|frequency|bandwidth|latency|throughput|"
            r"compatib\w+|firmware|version \d|software|hardware|compiler|database|server|port|"
            r"dimensions?|tolerance|maximum (?:\w+ ){0,2}(?:load|range|rating|temperature)|dosage|"
            r"python|javascript|java|sql|linux|kernel|tcp|http|usb|hdmi|xlr|gpu|cpu)\b",
        ),
        (
            "conceptual",
            r"(?:^(?:\w+ ){0,2}(?:why|explain|describe|discuss|summari[sz]e|analy[sz]e|outline|evaluate|elaborate)\b|"
            r"\bhow (?:does|do|did|is|are|was|were|has|have|could|can|might|will|would)\b|"
            r"\b(?:concepts?|theor(?:y|ies)|principles?|meaning of|role of|purpose of|function of|impact|effects?|"
            r"influences?|causes?|caused|reasons?|implications?|consequences?|relationship|significance|importance|views?|"
            r"perspectives?|opinions?|arguments?|ethical|moral|should|think|believe|debate|benefits?|risks?)\b)",
        ),
        (
            "factual",
            r"^(?:\w+ ){0,4}(?:who|whom|whose|when|where|which|what|how (?:many|much|long|far|old|tall|big|often|high|deep|fast)|"
            r"is|are|was|were|did|does|do|has|have|can|name|list)\b",
        ),
    )
)
# Where the words decide nothing, the type of the question does.
_BY_TYPE: dict[QueryType, Intent] = {
    "factual": "factual",
    "analytical": "conceptual",
    "opinion": "conceptual",
    "contextual": "procedural",
}


def find_intent(words: tuple[str, ...], query_type: QueryType) -> Intent:
    """Name the intent of a question from its words, or else from its type."""
    text = " ".join(words)
    for intent, pattern in _PATTERNS:
        if pattern.search(text):
            # "How many ...", "how long ..." ask for a number, not for an explanation.
            if intent == "conceptual" and re.search(
                r"\bhow (?:many|much|long|far|old|tall|big|often)\b", text
            ):
                return "factual"
            return intent
    return _BY_TYPE[query_type]

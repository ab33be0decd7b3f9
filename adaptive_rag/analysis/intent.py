"""Part of the query analysis: what the asker wants to do with the answer, by the form of the question."""

from __future__ import annotations

import re

from adaptive_rag.state import Intent, QueryType

_PERSON = r"(?:i|you|we|one|people|someone|u)"

# The first intent with a pattern that is found decides; the order runs from the most telling wording to the
# least. Patterns see the words in lower case, contractions written out, without punctuation.
_PATTERNS: dict[Intent, tuple[str, ...]] = {
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
        rf"\bhow (?:to|do {_PERSON}|can {_PERSON}|would {_PERSON}) "
        r"(?:fix|repair|solve|diagnose|get rid of|stop)\b",
    ),
    "comparison": (
        r"\b(?:differences?|differ|differs|different from|compar\w+|contrast|versus|vs|similarit\w+|"
        r"distinguish\w*|distinction|pros and cons|advantages and disadvantages|advantages or disadvantages|"
        r"instead of|rather than|same as|same thing as|"
        r"(?:better|worse|faster|cheaper|safer|more \w+) than)\b",
        r"\bwhich (?:\w+ )?(?:is|are|one is|has) (?:the )?"
        r"(?:better|worse|faster|cheaper|safer|stronger|more)\b",
        r"\b(?:is|are|was|were) .*\b(?:better|worse|faster|cheaper|safer|stronger)\b.*\bor\b",
    ),
    "procedural": (
        rf"\bhow (?:to|(?:do|can|should|would|could|might|did|will) {_PERSON}|"
        r"does (?:one|someone))\b(?! know\b| tell\b)",
        r"\b(?:steps? (?:to|for|in|of)|procedure for|instructions?|tutorial|walk me through|walk through|"
        r"guide (?:to|for)|recipe for|"
        r"(?:best|easiest|right|correct|fastest|proper|safest) ways? (?:to|of|for)|"
        r"need to do to|set up|install|installing|configure|configuring)\b",
    ),
    "technical": (
        r"\b(?:specifications?|specs?|parameters?|protocols?|algorithms?|api|implementation|formula|equation|"
        r"voltage|wattage|watts?|impedance|ohms?|frequency response|sample rate|bandwidth|latency|throughput|"
        r"compatib\w+|firmware|compiler|databases?|default port|datasheet|pinout|tolerance|torque|"
        r"maximum (?:\w+ ){0,2}(?:load|range|rating|temperature|power|voltage)|dosage|"
        r"python|javascript|java|sql|linux|kernel|tcp|udp|http|https|usb|hdmi|xlr|gpu|cpu|html|css|regex)\b",
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
        r"influences?|"
        r"causes?|caused|reasons?|implications?|consequences?|relationship|significance|importance|"
        r"views|perspectives?|opinions?|arguments?|ethical|moral|debate|benefits|risks|challenges)\b",
        r"\b(?:should|ought|think about|think of|believe)\b",
        r"^what is (?:an? )?(?:\w+ ){1,2}(?:learning|intelligence|theory|reasoning)$",
    ),
}
_COMPILED = tuple((intent, re.compile("|".join(patterns))) for intent, patterns in _PATTERNS.items())
# Where the words decide nothing, the type of the question does.
_BY_TYPE: dict[QueryType, Intent] = {
    "factual": "factual",
    "analytical": "conceptual",
    "opinion": "conceptual",
    "contextual": "factual",
}


def find_intent(words: tuple[str, ...], query_type: QueryType) -> Intent:
    """Name the intent of a question from its words, or else from its type."""
    text = " ".join(words)
    return next((intent for intent, pattern in _COMPILED if pattern.search(text)), _BY_TYPE[query_type])

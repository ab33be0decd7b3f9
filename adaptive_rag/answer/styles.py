"""The table of answer styles by strategy: how each one's answer is made.

A new style is a function that arranges sentences in blocks, in a file of its own. The graph has the styles
from its strategies; this table is for `generate` outside the graph, so a new strategy needs no row here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from adaptive_rag.answer.choose import answer_first
from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.answer.views import by_side

# How much is quoted was chosen by the half of the real documents that may be looked at (`python -m
# benchmarks.real`). Whole paragraphs hold as much of the evidence of a broad question as half as many words
# again of its best sentences.
FACTUAL_STYLE = AnswerStyle(arrange=answer_first, words=60, splits=True)
ANALYTICAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, quotes=8, extent="paragraph", words=150)
OPINION_STYLE = AnswerStyle(arrange=by_side, quotes=8, extent="paragraph", mass=1.0, words=150, views=True)
CONTEXTUAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, quotes=6, extent="paragraph", words=100)

STYLES: Mapping[str, AnswerStyle] = MappingProxyType(
    {
        "factual": FACTUAL_STYLE,
        "analytical": ANALYTICAL_STYLE,
        "opinion": OPINION_STYLE,
        "contextual": CONTEXTUAL_STYLE,
    }
)

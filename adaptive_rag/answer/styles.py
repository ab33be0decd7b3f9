"""The table of answer styles by strategy: how each one's answer is made.

A new style is a function that arranges sentences in blocks, in a file of its own. The graph has the styles
from its strategies; this table is for `generate` outside the graph, so a new strategy needs no row here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from adaptive_rag.answer.choose import answer_first
from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.answer.views import by_side

# A fact stands in one sentence, an analytical answer in several. Neither number was fitted;
# `python -m benchmarks.real` measures what they make of answers.
FACTUAL_STYLE = AnswerStyle(arrange=answer_first, further=1, share=0.5, splits=True)
ANALYTICAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, further=4, share=0.15)
OPINION_STYLE = AnswerStyle(arrange=by_side, further=4, share=0.15, views=True)
CONTEXTUAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, further=2, share=0.3)

STYLES: Mapping[str, AnswerStyle] = MappingProxyType(
    {
        "factual": FACTUAL_STYLE,
        "analytical": ANALYTICAL_STYLE,
        "opinion": OPINION_STYLE,
        "contextual": CONTEXTUAL_STYLE,
    }
)

"""The styles of answers, by strategy.

A new style needs a function that arranges sentences in blocks, in its own file. The graph has the styles
from its strategies; this table is for `generate` outside the graph, so a new strategy needs no row here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from adaptive_rag.answer.choose import answer_first
from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.answer.views import by_side

# The lengths were chosen on the development half of the real documents (`python -m benchmarks.real`). On
# broad questions, single sentences need half as many words again as whole paragraphs for the same evidence.
FACTUAL_STYLE = AnswerStyle(arrange=answer_first, words=60, splits=True)
ANALYTICAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, quotes=8, extent="paragraph", words=150)
OPINION_STYLE = AnswerStyle(arrange=by_side, quotes=6, extent="paragraph", words=150, views=True)
CONTEXTUAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, quotes=6, extent="paragraph", words=80)

STYLES: Mapping[str, AnswerStyle] = MappingProxyType(
    {
        "factual": FACTUAL_STYLE,
        "analytical": ANALYTICAL_STYLE,
        "opinion": OPINION_STYLE,
        "contextual": CONTEXTUAL_STYLE,
    }
)

"""The styles of answers, by strategy.

A new style needs a function that arranges sentences in blocks, in its own file. The graph has the styles
from its strategies; this table is for `generate` outside the graph, so a new strategy needs no row here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from adaptive_rag.answer.choose import answer_first
from adaptive_rag.answer.request import AnswerStyle
from adaptive_rag.answer.views import by_side

# The lengths were chosen on the development half of the real documents (`python -m benchmarks.real`), what is
# quoted beside the first sentence on 43 document sets that the reader does not know (`benchmarks.marked`).
FACTUAL_STYLE = AnswerStyle(arrange=answer_first, words=60, share=0.2, splits=True)
ANALYTICAL_STYLE = AnswerStyle(
    arrange=answer_first, sentences=4, quotes=8, extent="paragraph", paragraphs=True, words=150
)
OPINION_STYLE = AnswerStyle(
    arrange=by_side, quotes=6, extent="paragraph", paragraphs=True, words=150, views=True
)
CONTEXTUAL_STYLE = AnswerStyle(arrange=answer_first, sentences=4, quotes=6, paragraphs=True, words=80)

STYLES: Mapping[str, AnswerStyle] = MappingProxyType(
    {
        "factual": FACTUAL_STYLE,
        "analytical": ANALYTICAL_STYLE,
        "opinion": OPINION_STYLE,
        "contextual": CONTEXTUAL_STYLE,
    }
)

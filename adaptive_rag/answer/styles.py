"""The table of answer styles by strategy: how each one's answer is made.

A new style is a function that arranges sentences in blocks, in a file of its own. The graph has the styles
from its strategies; this table is for `generate` outside the graph, so a new strategy needs no row here.
"""

from collections.abc import Mapping
from types import MappingProxyType

from adaptive_rag.answer.by_aspect import ANALYTICAL_STYLE
from adaptive_rag.answer.by_side import OPINION_STYLE
from adaptive_rag.answer.factual import FACTUAL_STYLE
from adaptive_rag.answer.for_situation import CONTEXTUAL_STYLE
from adaptive_rag.answer.request import AnswerStyle

STYLES: Mapping[str, AnswerStyle] = MappingProxyType(
    {
        "factual": FACTUAL_STYLE,
        "analytical": ANALYTICAL_STYLE,
        "opinion": OPINION_STYLE,
        "contextual": CONTEXTUAL_STYLE,
    }
)

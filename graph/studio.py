"""The compiled graphs that LangGraph Studio and `langgraph dev` serve; their callers set little."""

from adaptive_rag.context import make_context
from adaptive_rag.context.caller import NothingToSet, caller_settings
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.graph.indexing import build_indexing_graph
from adaptive_rag.graph.strategies import STRATEGIES

# What is wrong with the operator's settings stops the server here. Users, and the bounds of what callers pass
# and set, stay as they are now; everything else is read for each question.
operator = make_context()
form = caller_settings(operator, tuple(STRATEGIES))
graph = build_graph(form).compile(name="adaptive_rag")
indexing = build_indexing_graph(NothingToSet).compile(name="indexing")

"""The compiled graphs that LangGraph Studio and `langgraph dev` serve; callers can change few settings."""

from adaptive_rag.context import make_context
from adaptive_rag.context.caller import NothingToSet, caller_settings
from adaptive_rag.graph.builder import build_graph
from adaptive_rag.graph.indexing import build_indexing_graph
from adaptive_rag.graph.strategies import STRATEGIES

# Invalid settings of the operator stop the server here. The users, and the limits of what callers may pass
# and set, are read once; all other settings are read again for each question.
operator = make_context()
form = caller_settings(operator, tuple(STRATEGIES))
graph = build_graph(form).compile(name="adaptive_rag")
indexing = build_indexing_graph(NothingToSet).compile(name="indexing")

"""The compiled graphs that LangGraph Studio and `langgraph dev` serve."""

from adaptive_rag.graph.builder import build_graph
from adaptive_rag.graph.indexing import build_indexing_graph

graph = build_graph().compile(name="adaptive_rag")
indexing = build_indexing_graph().compile(name="indexing")

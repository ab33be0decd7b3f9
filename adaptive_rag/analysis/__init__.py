"""Question -> QueryAnalysis: the type of a question, the confidence in it, and the reasons."""

from adaptive_rag.analysis.analyse import UNSURE_THRESHOLD, analyse, analyse_batch
from adaptive_rag.analysis.explain import explain_contributions
from adaptive_rag.analysis.learning import forget, learn
from adaptive_rag.analysis.ontology import Ontology, load_ontology

__all__ = [
    "UNSURE_THRESHOLD",
    "Ontology",
    "analyse",
    "analyse_batch",
    "explain_contributions",
    "forget",
    "learn",
    "load_ontology",
]

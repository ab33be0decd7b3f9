"""Measure the gain from adapting to the question: data sets, arms, metrics, statistics, reports."""

from adaptive_rag.evaluation.arms import ARMS, Arm, Bench, find_arms
from adaptive_rag.evaluation.datasets import Dataset, Question, limited, load_dataset
from adaptive_rag.evaluation.provenance import RunSettings
from adaptive_rag.evaluation.run import FinishedRun, run_arms

__all__ = [
    "ARMS",
    "Arm",
    "Bench",
    "Dataset",
    "FinishedRun",
    "Question",
    "RunSettings",
    "find_arms",
    "limited",
    "load_dataset",
    "run_arms",
]

"""The index: stores chunks on disk and finds them by vector or by words."""

from adaptive_rag.index.check import IndexCheck
from adaptive_rag.index.index import Index, describe, describe_fields
from adaptive_rag.index.progress import Progress
from adaptive_rag.index.repair import RepairReport
from adaptive_rag.index.report import IndexReport
from adaptive_rag.index.sharding.source import ShardedIndex

__all__ = [
    "Index",
    "IndexCheck",
    "IndexReport",
    "Progress",
    "RepairReport",
    "ShardedIndex",
    "describe",
    "describe_fields",
]

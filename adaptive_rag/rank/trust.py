"""How far a chat model's scores can be trusted: as far as they agreed with the local ones so far."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

import numpy as np
from cachetools import LRUCache

# Questions that a model's record holds, and models that are remembered.
QUESTIONS, MODELS = 50, 16

# The model stands beside its record, so that no other one gets its id meanwhile.
_records: LRUCache[object, tuple[object, deque[float]]] = LRUCache(MODELS)
_lock = threading.Lock()


def trust(model: object, local: Sequence[float], judged: Sequence[float]) -> float:
    """Return how far a model's scores agree with the local ones, 0 to 1, and remember it for the model.

    It is the mean of Pearson's correlation over the questions that the model scored last, this one among
    them. Over all of them, since a good model contradicts the local order where that is wrong, and a weak
    one agrees with it now and then by chance. Scores that are all equal count 0.
    """
    if len(judged) < 2:
        return 1.0
    varied = np.ptp(local) > 0 and np.ptp(judged) > 0
    agreement = float(np.corrcoef(local, judged)[0, 1]) if varied else 0.0
    key = model if isinstance(model, str) else id(model)
    with _lock:
        _, record = _records.setdefault(key, (model, deque(maxlen=QUESTIONS)))
        record.append(agreement)
        return max(0.0, sum(record) / len(record))


def forget_records() -> None:
    """Forget how far every model agreed so far."""
    with _lock:
        _records.clear()

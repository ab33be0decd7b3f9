"""Fixtures of the answering tests."""

import numpy as np
import pytest


@pytest.fixture
def toneless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no sentence praise or blame, so that the scripted reader alone tells the sides."""

    def none(question, documents, sentences):
        return [np.zeros(len(held.spans)) for held in sentences]

    monkeypatch.setattr("adaptive_rag.answer.request.agreements", none)

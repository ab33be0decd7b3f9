import pytest

from adaptive_rag.ingest import SourceFile, grammars, split
from adaptive_rag.ingest.file import read_file
from adaptive_rag.ingest.loaders import LOADERS

PYTHON = '''"""Gates."""
import functools

class Gate:
    """A gate in the wall."""
    @functools.cache
    def height(self):
        return 3.6

async def shut(gate):
    def ring():
        pass
'''
GO = "package gates\n\ntype Gate struct {\n}\n\nfunc (g *Gate) Shut() error {\n\treturn nil\n}\n"
SCRIPT = (
    "export default class Gate {\n  static async function shut() {}\n}\n"
    "const ring = async (bell, loud = 3) => {\n};\nlet count = 3;\n"
)


def sections(path, text):
    path.write_text(text)
    source = read_file(SourceFile(path, path.name), LOADERS["source code"])
    assert source.text == text
    for chunk in split(source, size=60, overlap=0):
        assert text[chunk["start"] : chunk["end"]] == chunk["text"]
    return {text[heading.offset :].split("\n")[0].strip(): heading.section for heading in source.headings}


def test_python_has_its_classes_and_functions_as_headings(tmp_path):
    assert sections(tmp_path / "gates.py", PYTHON) == {
        '"""Gates."""': "gates.py",
        "class Gate:": "Gate",
        "@functools.cache": "Gate > height",
        "async def shut(gate):": "shut",
        "def ring():": "shut > ring",
    }


PLAIN = {
    "gates.go": (GO, {"package gates": "gates.go", "func (g *Gate) Shut() error {": "Shut"}),
    "gates.ts": (
        SCRIPT,
        {"export default class Gate {": "Gate", "static async function shut() {}": "Gate > shut"}
        | {"const ring = async (bell, loud = 3) => {": "ring"},
    ),
    "gates.sql": (
        "SELECT 1;\ncreate table gates (id int);\n"
        "CREATE TABLE IF NOT EXISTS `walls` (\nCREATE VIEW [dbo].[keys] AS",
        {"create table gates (id int);": "gates", "CREATE TABLE IF NOT EXISTS `walls` (": "walls"}
        | {"CREATE VIEW [dbo].[keys] AS": "keys"},
    ),
    "old.py": ("print 'two'\ndef shut(gate):\n    pass\n", {"def shut(gate):": "shut"}),
}


@pytest.mark.parametrize("name", PLAIN)
def test_without_a_grammar_a_language_has_what_begins_with_a_word_of_its_own(tmp_path, monkeypatch, name):
    monkeypatch.setattr(grammars, "find_spec", lambda name: None)
    text, found = PLAIN[name]
    assert found.items() <= sections(tmp_path / name, text).items()


IN_GRAMMARS = {
    "gates.c": (
        "/* Opens\n   a gate. */\nstatic int *open_gate(struct gate *g, int (*f)(int)) {\n}\n"
        "int shut(int g);\nstruct wall { int height; };\ntypedef struct { int h; } Bell;\n",
        {"/* Opens": "open_gate", "struct wall { int height; };": "wall"}
        | {"typedef struct { int h; } Bell;": "Bell"},
    ),
    "gates.cpp": (
        "namespace harbour {\n// A gate.\ntemplate <typename T>\nclass Gate {\n  Gate(int h) {}\n"
        "  int& height() { return h; }\n};\n}\nvoid harbour::Gate<int>::shut() const {}\n",
        {"namespace harbour {": "harbour", "// A gate.": "harbour > Gate"}
        | {
            "Gate(int h) {}": "harbour > Gate > Gate",
            "int& height() { return h; }": "harbour > Gate > height",
        }
        | {"void harbour::Gate<int>::shut() const {}": "harbour::Gate<int>::shut"},
    ),
    "Gate.java": (
        "package x;\n/** A gate. */\n@Entity\npublic class Gate<T> {\n  int h = 3; // metres\n"
        "  public Gate(int h) {}\n  /** Shuts it. */\n  @Override\n  public void shut() {}\n}\n",
        {"/** A gate. */": "Gate", "public Gate(int h) {}": "Gate > Gate", "/** Shuts it. */": "Gate > shut"},
    ),
    "gates.go": (
        "package gates\n// Gate, 3 m – wide.\ntype Gate struct {\n}\n\n"
        "func (g *Gate) Shut() error {\n}\nfunc main() {}\n",
        {
            "// Gate, 3 m – wide.": "Gate",
            "func (g *Gate) Shut() error {": "Gate.Shut",
            "func main() {}": "main",
        },
    ),
    "gates.rs": (
        "/// A gate.\n#[derive(Debug)]\npub struct Gate { h: u32 }\nimpl Gate {\n    /// Shuts it.\n"
        "    pub fn shut(&self) {}\n}\n",
        {"/// A gate.": "Gate", "impl Gate {": "Gate", "/// Shuts it.": "Gate > shut"},
    ),
    "gates.js": (
        "export default class Gate {\n  height = () => 3;\n  shut() {}\n}\n/** Rings. */\n"
        "const ring = async (bell) => {\n};\nlet count = 3;\n",
        {"export default class Gate {": "Gate", "height = () => 3;": "Gate > height"}
        | {"shut() {}": "Gate > shut", "/** Rings. */": "ring"},
    ),
    "gates.tsx": (
        "export interface Bell { ring(): void }\nexport const Gate: FC = () => <div>x</div>;\n",
        {"export interface Bell { ring(): void }": "Bell"}
        | {"export const Gate: FC = () => <div>x</div>;": "Gate"},
    ),
}


@pytest.mark.parametrize("name", IN_GRAMMARS)
def test_a_language_with_a_grammar_has_all_its_functions_with_what_is_said_above_them(tmp_path, name):
    pytest.importorskip("tree_sitter", reason="needs pip install 'adaptive-rag[code]'")
    text, found = IN_GRAMMARS[name]
    held = sections(tmp_path / name, text)
    assert held == {text.split("\n")[0]: name} | found

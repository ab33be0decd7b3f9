import pytest

from adaptive_rag.ingest import extract_text, split

PYTHON = '''"""Gates."""

import functools


class Gate:
    """A gate in the wall."""

    @functools.cache
    def height(self):
        """Return the height in metres."""
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
    source = extract_text(path)
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


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("gates.go", GO, {"package gates": "gates.go", "func (g *Gate) Shut() error {": "Shut"}),
        (
            "gates.ts",
            SCRIPT,
            {
                "export default class Gate {": "Gate",
                "static async function shut() {}": "Gate > shut",
                "const ring = async (bell, loud = 3) => {": "ring",
            },
        ),
        ("gates.sql", "SELECT 1;\ncreate table gates (id int);\n", {"create table gates (id int);": "gates"}),
        ("old.py", "print 'two'\ndef shut(gate):\n    pass\n", {"def shut(gate):": "shut"}),
    ],
)
def test_other_languages_have_what_begins_with_a_word_of_theirs(tmp_path, name, text, found):
    assert found.items() <= sections(tmp_path / name, text).items()

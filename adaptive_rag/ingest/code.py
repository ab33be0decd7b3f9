"""The source code loader: the file unchanged, with its classes and functions as headings."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from adaptive_rag.ingest.documents import TextBuilder
from adaptive_rag.ingest.grammars import find_by_grammar
from adaptive_rag.ingest.text import decode

# A definition in languages that begin one with a keyword: "func (s *Server) Start(", "pub fn open(", "export
# default class Gate", "CREATE TABLE gates", "const shut = (gate) =>". In C, functions have no keyword.
_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]*+)(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|"
    r"pub|pub\([a-z]+\)|inline|override|open|data|sealed|partial|unsafe|extern)[ \t]++)*+"
    r"(?:(?:class|interface|struct|enum|trait|impl|module|namespace|object|record|protocol|extension|function|"
    r"func|fun|fn|def|sub|"
    r"(?i:create (?:or replace )?(?:table|view|function|procedure)(?: if not exists)?))"
    r"[ \t]++(?:\([^()\n]{0,80}\)[ \t]*+)?[\"`\[]?+(?:\w++[\"`\]]\.[\"`\[])?+(?P<name>[\w.:]++)|"
    r"(?:const|let|var)[ \t]++(?P<value>\w++)[ \t]*+=[ \t]*+(?:async[ \t]++)?"
    r"(?:function\b|\w++[ \t]*+=>|\([^()\n]{0,200}\)[ \t]*+=>))",
    re.MULTILINE,
)


def load_code(path: Path, builder: TextBuilder) -> None:
    """Write a file of source code into `builder`; the section of a chunk is "class > function"."""
    builder.keeps_lines = True
    text = decode(path.read_bytes(), builder)
    builder.mark_heading(path.name, 1, offset=0)
    is_python = path.suffix.lower() == ".py"
    definitions = _find_in_python(text) if is_python else find_by_grammar(path, text)
    for offset, level, name in definitions if definitions is not None else _find_by_keywords(text):
        builder.mark_heading(name, level, offset=offset)
    builder.add(text)


def _find_in_python(text: str) -> list[tuple[int, int, str]] | None:
    """Return the offset, level and name of each class and function; None where the text is not Python."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about escape sequences in strings
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # another version's code, or not code
        return None
    line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
    definitions, pending = [], [(child, 2) for child in ast.iter_child_nodes(tree)]
    while pending:
        node, level = pending.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first_line = min(part.lineno for part in (node, *node.decorator_list))
            definitions.append((line_starts[first_line - 1], level, node.name))
            level += 1
        if isinstance(node, ast.stmt):
            pending += [(child, level) for child in ast.iter_child_nodes(node)]
    return definitions


def _find_by_keywords(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the same for definitions that begin with a keyword; the indent gives the level."""
    indents: list[int] = []
    for match in _DEFINITION.finditer(text):
        indent = len(match["indent"].expandtabs())
        indents = [*(outer for outer in indents if outer < indent), indent]
        yield match.start(), 1 + len(indents), match["name"] or match["value"]

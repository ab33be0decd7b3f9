"""Where classes and functions begin in source code, by the grammar of its language.

The extra `code` installs tree-sitter and the grammars; tree-sitter also parses incomplete code.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# By suffix: the grammar's package and its function. A header may be C or C++; the C++ grammar covers both.
_GRAMMARS = {
    ".c": ("tree_sitter_c", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".hpp"), ("tree_sitter_cpp", "language")),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("tree_sitter_javascript", "language")),
}
# Nodes around a definition that begin with text of their own: "export", "template <class T>".
_PREFIX_WRAPPERS = {"export_statement", "template_declaration"}
# All nodes around a definition that belong to it.
_WRAPPERS = {"type_declaration", "lexical_declaration", "variable_declaration", "type_definition"}
_WRAPPERS |= {"declaration", "field_declaration"} | _PREFIX_WRAPPERS
# Nodes above a definition that belong to it.
_LEADING_NODES = {"comment", "line_comment", "block_comment", "attribute_item", "decorator"}


def find_by_grammar(path: Path, text: str) -> list[tuple[int, int, str]] | None:
    """Return the offset, level and name of each class and function, in text order.

    A comment or decorator directly above a definition belongs to it. None if there is no grammar for the
    language, or the extra `code` is not installed.
    """
    module, function = _GRAMMARS.get(path.suffix.lower(), ("", ""))
    if not module or not (find_spec("tree_sitter") and find_spec(module)):
        return None
    tree_sitter: Any = importlib.import_module("tree_sitter")
    language = tree_sitter.Language(getattr(importlib.import_module(module), function)())
    content = text.encode(errors="replace")
    definitions = sorted(_find_definitions(tree_sitter.Parser(language).parse(content).root_node))
    positions, previous_start, characters = [], 0, 0
    for start, level, name in definitions:
        characters += len(content[previous_start:start].decode())
        previous_start = start
        line = text.rfind("\n", 0, characters) + 1
        positions.append((characters if text[line:characters].strip() else line, level, name))
    return positions


def _find_definitions(root: Any) -> Iterator[tuple[int, int, str]]:
    """Yield the byte offset, level and name of each class and function, in any order."""
    pending = [(root, 2)]
    while pending:
        node, level = pending.pop()
        if name := _read_name(node):
            yield _find_start(node), level, name
            level += 1
        pending += [(child, level) for child in node.named_children]


def _read_name(node: Any) -> str:
    """Return the name that a node defines; "" if it is no definition with a name and a body."""
    field = node.child_by_field_name
    name_node = field("name") or field("property")
    body = field("body") or ((value := field("value")) and value.child_by_field_name("body"))
    match node.type:
        case "impl_item":  # Rust: "impl Display for Gate"
            name_node = field("type")
        case "function_definition":  # C, where the name is inside "*(name)(int gate)"
            name_node = node
            while inner := name_node.child_by_field_name("declarator") or _find_referenced(name_node):
                name_node = inner
        case "type_definition":  # C: "typedef struct { ... } Gate;"
            defined = field("type")
            name_node = None if defined.child_by_field_name("name") else field("declarator")
            body = defined.child_by_field_name("body")
        case "type_spec" | "macro_definition" | "struct_item":
            body = name_node
    if name_node is None or body is None:
        return ""
    name = " ".join(name_node.text.decode(errors="replace").split())
    receiver = field("receiver")  # Go: "func (g *Gate) Shut()"
    if receiver is not None and (words := receiver.text.decode(errors="replace").strip("()").split()):
        return f"{words[-1].lstrip('*')}.{name}"
    return name


def _find_referenced(node: Any) -> Any:
    """Return the declarator inside a C++ reference: "Gate& open()" has no field for it."""
    return node.named_children[0] if node.type == "reference_declarator" else None


def _find_start(node: Any) -> int:
    """Return the byte offset of a definition, including its wrapper and the comments above it."""
    while node.parent is not None and node.parent.type in _WRAPPERS:
        if node.parent.named_children[0] != node and node.parent.type not in _PREFIX_WRAPPERS:
            break
        node = node.parent
    start = node
    while (above := start.prev_named_sibling) is not None and above.type in _LEADING_NODES:
        if above.end_point.row < start.start_point.row - 1 or not _begins_line(above):
            break
        start = above
    return int(start.start_byte)


def _begins_line(node: Any) -> bool:
    """Return whether a node is first on its line; a comment at the end of a line belongs to that line."""
    before = node.prev_sibling
    # a Rust comment node includes its line end
    return before is None or before.end_point.row < node.start_point.row or before.end_point.column == 0

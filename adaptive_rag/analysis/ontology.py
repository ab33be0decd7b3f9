"""Reads the terms of a domain from YAML and finds them in questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from yaml import Node  # type: ignore[import-untyped]

# The keys of a category, and of a term, that is written as a mapping.
CATEGORY_KEYS = ("terms", "synonyms", "description")
TERM_KEYS = ("term", "synonyms")

_TOKEN = re.compile(r"[^\W_]+(?:[.+#][^\W_]+|\+\+|#)?")


class Term(NamedTuple):
    """One spelling of a term: its category, the term's name, and the line in the file."""

    category: str
    name: str
    line: int


class Ontology:
    """The terms of a domain, by category."""

    def __init__(self, terms: dict[tuple[str, ...], Term], categories: list[str]) -> None:
        self.categories = categories
        self._terms = terms
        self._longest = max((len(key) for key in terms), default=0)

    def __len__(self) -> int:
        return len({(term.category, term.name) for term in self._terms.values()})

    def find_terms(self, text: str) -> dict[str, list[str]]:
        """Return the terms in a text, by category; of overlapping terms, the longest counts.

        Case, plurals, hyphens and the kind of apostrophe make no difference.
        """
        terms: dict[str, dict[str, None]] = {}
        for term, _ in self._matches(_fold(text)):
            terms.setdefault(term.category, {})[term.name] = None
        return {category: list(names) for category, names in terms.items()}

    def relevance(self, text: str) -> float:
        """Return, from 0 to 1, how much of a text is about the domain.

        It is the mean of two numbers: the share of the text's topic words that belong to terms, and half the
        number of different terms, at most 1. Without any term it is 0.
        """
        words = _fold(text)
        matches = list(self._matches(words))
        if not matches:
            return 0.0
        covered = {i for _, span in matches for i in span}
        names = {term.name for term, _ in matches}
        topics = {i for i, word in enumerate(words) if word not in lx.SHAPE_WORDS} | covered
        return round(0.5 * len(covered) / len(topics) + 0.5 * min(len(names) / 2, 1.0), 4)

    def _matches(self, words: list[str]) -> Iterator[tuple[Term, range]]:
        start = 0
        while start < len(words):
            for length in range(min(self._longest, len(words) - start), 0, -1):
                term = self._terms.get(tuple(words[start : start + length]))
                if term is not None:
                    yield term, range(start, start + length)
                    start += length - 1
                    break
            start += 1


def load_ontology(path: str | Path) -> Ontology:
    """Read an ontology from a YAML file: category -> terms.

    A category is a list of terms, or a mapping with `terms` and `synonyms` (term -> other spellings).
    A list item is a term, or a mapping with `term` and `synonyms`.

    Raises:
        ConfigurationError: the file cannot be read, or has unknown keys, duplicates or empty categories; the
            message lists all problems with their lines.
    """
    file = Path(path).expanduser()
    try:
        if file.exists() and not file.is_file():
            raise OSError("it is not a file")
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The ontology {str(path)!r} cannot be read ({error}). "
            "Expected a YAML file in UTF-8: category -> terms."
        ) from error
    return parse_ontology(text, name=str(path))


def parse_ontology(text: str, *, name: str = "ontology") -> Ontology:
    """Return the ontology of a YAML text; error messages refer to it by `name`."""
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigurationError(
            f"The ontology {name!r} is not valid YAML{where}: {problem}. Expected: category: [term, ...]"
        ) from error
    parser = _OntologyParser()
    parser.read(root)
    if parser.problems:
        lines = "\n".join(f"  line {line}: {problem}" for line, problem in sorted(parser.problems))
        raise ConfigurationError(f"The ontology {name!r} is not usable:\n{lines}")
    return Ontology(parser.terms, list(parser.categories))


def _fold(text: str) -> list[str]:
    """Split a text into words in the form in which terms are compared: lower case and singular."""
    without_apostrophes = re.sub(r"'s\b|'", "", text.lower().replace("’", "'"))
    return [_singular(word) for word in _TOKEN.findall(without_apostrophes)]


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y" if len(word) > 4 else word[:-1]
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes")) else word[:-1]


class _OntologyParser:
    """Collects terms and problems from YAML nodes, which have line numbers."""

    def __init__(self) -> None:
        self.terms: dict[tuple[str, ...], Term] = {}
        self.categories: dict[str, int] = {}
        self.problems: list[tuple[int, str]] = []

    def read(self, root: Node | None) -> None:
        if root is None:
            self.problems.append((1, "the file is empty; expected: category: [term, ...]"))
        elif self._expect("mapping", root, "expected a mapping of category to terms"):
            for key, value in root.value:
                self._read_category(str(key.value).strip(), key, value)

    def _read_category(self, category: str, key: Node, value: Node) -> None:
        if line := self.categories.get(category):
            self._report(key, f"category {category!r} was already given at line {line}; join the two")
            return
        self.categories[category] = _line(key)
        before = len(self.terms), len(self.problems)
        if value.id == "mapping":
            parts = self._parts(value, CATEGORY_KEYS, f"category {category!r}")
            if "terms" in parts:
                self._read_terms(category, parts["terms"])
            if "synonyms" in parts:
                self._read_synonyms(category, parts["synonyms"])
        elif value.id != "scalar" or value.value.strip():
            self._read_terms(category, value)
        if before == (len(self.terms), len(self.problems)):
            self._report(key, f"category {category!r} is empty; give it terms or remove it")

    def _read_terms(self, category: str, value: Node) -> None:
        got = f"the terms of {category!r} are {_describe(value)}"
        if not self._expect("sequence", value, f"{got}; expected a list like [amplifier, mixer]"):
            return
        for item in value.value:
            parts = {"term": item}
            if item.id == "mapping":
                parts = self._parts(item, TERM_KEYS, f"a term of {category!r}")
            term = parts.get("term", item)
            if self._expect("scalar", term, f"a term of {category!r} has no name; expected a text"):
                self._add(category, term.value, term.value, term)
                if "synonyms" in parts:
                    self._add_synonyms(category, term.value.strip(), parts["synonyms"])

    def _parts(self, node: Node, allowed: Sequence[str], where: str) -> dict[str, Node]:
        for key, _ in node.value:
            if key.value not in allowed:
                self._report(
                    key, f"unknown key {key.value!r} in {where}; expected one of {', '.join(allowed)}"
                )
        return {key.value: value for key, value in node.value if key.value in allowed}

    def _read_synonyms(self, category: str, value: Node) -> None:
        got = f"the synonyms of {category!r} are {_describe(value)}"
        if not self._expect("mapping", value, f"{got}; expected a mapping of term to list"):
            return
        for key, synonyms in value.value:
            name = str(key.value).strip()
            term = self.terms.get(tuple(_fold(name)))
            if term is None or term.category != category:
                self._add(category, name, name, key)
            self._add_synonyms(category, name, synonyms)

    def _add_synonyms(self, category: str, name: str, value: Node) -> None:
        for node in value.value if value.id == "sequence" else [value]:
            if self._expect("scalar", node, f"a synonym of {name!r} is not a text"):
                self._add(category, name, node.value, node)

    def _add(self, category: str, name: str, written: str, node: Node) -> None:
        words = tuple(_fold(written))
        existing = self.terms.get(words)
        if not words:
            self._report(node, f"category {category!r} has an empty term")
        elif existing is None:
            self.terms[words] = Term(category, name.strip(), _line(node))
        # The synonym "effect pedal" of the term "effects pedal" adds nothing, but is no error.
        elif (existing.category, existing.name) != (category, name.strip()) or written == name:
            where = f"in {existing.category!r} at line {existing.line}"
            self._report(node, f"term {written.strip()!r} is a duplicate: it is already {where}")

    def _expect(self, kind: str, node: Node, problem: str) -> bool:
        if node.id != kind:
            self._report(node, problem)
        return str(node.id) == kind

    def _report(self, node: Node, problem: str) -> None:
        self.problems.append((_line(node), problem))


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _describe(node: Node) -> str:
    return repr(node.value) if node.id == "scalar" else f"a {node.id}"

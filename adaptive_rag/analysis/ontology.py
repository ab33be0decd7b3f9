"""Part of the query analysis: the terms of a domain, read from YAML and found in questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adaptive_rag.analysis import lexicon as lx
from adaptive_rag.errors import ConfigurationError

if TYPE_CHECKING:
    from yaml import Node  # type: ignore[import-untyped]

# What a category may say where it is more than a list of terms, and what a term may.
CATEGORY_KEYS = ("terms", "synonyms", "description")
TERM_KEYS = ("term", "synonyms")

_TOKEN = re.compile(r"[^\W_]+(?:[.+#][^\W_]+|\+\+|#)?")


class Term(NamedTuple):
    """One way to write a term: its category, the name it goes by, and the line where it stands."""

    category: str
    name: str
    line: int


class Ontology:
    """Terms of a domain by category, findable in running text."""

    def __init__(self, terms: dict[tuple[str, ...], Term], categories: list[str]) -> None:
        self.categories = categories
        self._terms = terms
        self._longest = max((len(key) for key in terms), default=0)

    def __len__(self) -> int:
        return len({(term.category, term.name) for term in self._terms.values()})

    def find_terms(self, text: str) -> dict[str, list[str]]:
        """Find terms in a text, the longest first, and name them by category.

        Case, plurals, hyphens and accents of the apostrophe make no difference.
        """
        found: dict[str, list[str]] = {}
        for term, _ in self._matches(fold(text)):
            names = found.setdefault(term.category, [])
            if term.name not in names:
                names.append(term.name)
        return found

    def relevance(self, text: str) -> float:
        """Say between 0 and 1 how much of a text is about the domain.

        Half of it is the share of the text's topic words that belong to terms, half the number of
        different terms, of which two are enough. Without any term it is 0.
        """
        words = fold(text)
        covered: set[int] = set()
        names: set[str] = set()
        for term, span in self._matches(words):
            covered.update(span)
            names.add(term.name)
        if not names:
            return 0.0
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

    A category is a list of terms, or a mapping of `terms` and `synonyms` (term -> other ways to write it).
    An item of a list is a term, or a mapping of `term` and `synonyms`.

    Raises:
        ConfigurationError: the file cannot be read, or holds unknown keys, duplicates or empty categories;
            every problem is named with its line.
    """
    file = Path(path).expanduser()
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The ontology {str(path)!r} cannot be read ({error}). "
            "Expected a YAML file in UTF-8: category -> terms."
        ) from error
    return parse_ontology(text, name=str(path))


def parse_ontology(text: str, *, name: str = "ontology") -> Ontology:
    """Build an ontology from YAML text; `name` stands in the error messages.

    Raises:
        ConfigurationError: as for `load_ontology`.
    """
    import yaml  # type: ignore[import-untyped,unused-ignore]

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise ConfigurationError(
            f"The ontology {name!r} is no valid YAML{where}: {problem}. Expected: category: [term, ...]"
        ) from error
    reader = _Reader()
    reader.read(root)
    if reader.problems:
        lines = "\n".join(f"  line {line}: {problem}" for line, problem in sorted(reader.problems))
        raise ConfigurationError(f"The ontology {name!r} is not usable:\n{lines}")
    return Ontology(reader.terms, reader.categories)


def fold(text: str) -> list[str]:
    """Split into words in the form in which terms are compared: lower case, singular, without hyphens."""
    cleaned = text.lower().replace("’", "'")
    cleaned = re.sub(r"'s\b|'", "", cleaned)
    return [_singular(word) for word in _TOKEN.findall(cleaned)]


def _singular(word: str) -> str:
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics")):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y" if len(word) > 4 else word[:-1]
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


class _Reader:
    """Walks the YAML nodes, which know their lines, and collects terms and problems."""

    def __init__(self) -> None:
        self.terms: dict[tuple[str, ...], Term] = {}
        self.categories: list[str] = []
        self.problems: list[tuple[int, str]] = []
        self._seen: dict[str, int] = {}

    def read(self, root: Node | None) -> None:
        if root is None:
            self.problems.append((1, "the file is empty; expected: category: [term, ...]"))
            return
        if not _is(root, "mapping"):
            self._refuse(root, "expected a mapping of category to terms")
            return
        for key, value in root.value:
            name = str(key.value).strip()
            if name in self._seen:
                self._refuse(
                    key, f"category {name!r} was already given at line {self._seen[name]}; join the two"
                )
                continue
            self._seen[name] = _line(key)
            before = len(self.terms)
            problems = len(self.problems)
            self._category(name, key, value)
            if len(self.terms) == before and len(self.problems) == problems:
                self._refuse(key, f"category {name!r} is empty; give it terms or remove it")
            self.categories.append(name)

    def _category(self, category: str, key: Node, value: Node) -> None:
        if _is(value, "mapping"):
            for inner, node in value.value:
                if inner.value not in CATEGORY_KEYS:
                    self._refuse(
                        inner,
                        f"unknown key {inner.value!r} in category {category!r}; "
                        f"expected one of {', '.join(CATEGORY_KEYS)}",
                    )
                elif inner.value == "terms":
                    self._terms_of(category, node)
                elif inner.value == "synonyms":
                    self._synonyms(category, node)
        elif not (_is(value, "scalar") and not str(value.value).strip()):
            self._terms_of(category, value)

    def _terms_of(self, category: str, value: Node) -> None:
        if not _is(value, "sequence"):
            self._refuse(
                value,
                f"the terms of {category!r} are {_shown(value)}; expected a list like [amplifier, mixer]",
            )
            return
        for item in value.value:
            if _is(item, "scalar"):
                self._add(category, str(item.value), str(item.value), item)
            elif _is(item, "mapping"):
                self._term_with_synonyms(category, item)
            else:
                self._refuse(item, f"a term of {category!r} is a list; expected a text")

    def _term_with_synonyms(self, category: str, item: Any) -> None:
        parts = {key.value: (key, value) for key, value in item.value}
        unknown = [name for name in parts if name not in TERM_KEYS]
        for name in unknown:
            self._refuse(
                parts[name][0], f"unknown key {name!r} in a term of {category!r}; expected term and synonyms"
            )
        if unknown:
            return
        if "term" not in parts or not _is(parts["term"][1], "scalar"):
            self._refuse(
                item, f"a term of {category!r} has no name; expected: {{term: ..., synonyms: [...]}}"
            )
            return
        name = str(parts["term"][1].value).strip()
        self._add(category, name, name, parts["term"][1])
        if "synonyms" in parts:
            self._variants(category, name, parts["synonyms"][1])

    def _synonyms(self, category: str, value: Node) -> None:
        if not _is(value, "mapping"):
            self._refuse(
                value, f"the synonyms of {category!r} are {_shown(value)}; expected a mapping of term to list"
            )
            return
        for key, variants in value.value:
            name = str(key.value).strip()
            known = self.terms.get(tuple(fold(name)))
            if known is None or known.category != category:
                self._add(category, name, name, key)
            self._variants(category, name, variants)

    def _variants(self, category: str, name: str, value: Node) -> None:
        nodes = value.value if _is(value, "sequence") else [value]
        for node in nodes:
            if _is(node, "scalar"):
                self._add(category, name, str(node.value), node)
            else:
                self._refuse(node, f"a synonym of {name!r} is no text")

    def _add(self, category: str, name: str, written: str, node: Node) -> None:
        words = tuple(fold(written))
        if not words:
            self._refuse(node, f"category {category!r} holds an empty term")
            return
        known = self.terms.get(words)
        if known is not None:
            # "effect pedal" beside "effects pedal" adds nothing and harms nothing.
            if (known.category, known.name) == (category, name.strip()) and written != name:
                return
            where = f"in {known.category!r} at line {known.line}"
            self._refuse(node, f"term {written.strip()!r} is a duplicate: it stands already {where}")
            return
        self.terms[words] = Term(category, name.strip(), _line(node))

    def _refuse(self, node: Node, problem: str) -> None:
        self.problems.append((_line(node), problem))


def _is(node: Node, kind: str) -> bool:
    return str(node.id) == kind


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _shown(node: Node) -> str:
    return repr(node.value) if _is(node, "scalar") else f"a {node.id}"

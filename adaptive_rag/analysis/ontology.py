"""Part of the query analysis: the terms of a domain, read from YAML and found in questions."""

from __future__ import annotations


class Ontology:
    """Terms of a domain by category."""

    def find_terms(self, text: str) -> dict[str, list[str]]:
        """Find the ontology's terms in a text, by category."""
        raise NotImplementedError

    def relevance(self, text: str, terms: dict[str, list[str]]) -> float:
        """Say between 0 and 1 how much of a text the found terms cover."""
        raise NotImplementedError

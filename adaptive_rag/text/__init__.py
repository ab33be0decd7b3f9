"""Text utilities that several packages share: words, sentences, markers, vectors."""

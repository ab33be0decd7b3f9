"""How many tokens a text is taken for, without any model's own tokenizer."""

from __future__ import annotations

BYTES_PER_TOKEN = 4  # of English text, on average; scripts of two or three bytes a letter need more tokens


def count_tokens(text: str) -> int:
    """Return the tokens that a text is taken for: four bytes make one, and a part of one counts whole."""
    return -(-len(text.encode(errors="surrogatepass")) // BYTES_PER_TOKEN)

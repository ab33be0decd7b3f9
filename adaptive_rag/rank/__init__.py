"""Candidates -> the chunks that count: relevance, rerankers, selection, sides, window."""

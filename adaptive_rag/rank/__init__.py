"""Candidates -> the chunks that count: relevance, rerankers, diversity, balance, stances, window."""

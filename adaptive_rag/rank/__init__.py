"""From candidates to the chunks that are read: relevance, rerankers, selection, sides, window."""

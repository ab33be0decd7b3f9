"""Question -> queries: turns a question into the texts to search for."""

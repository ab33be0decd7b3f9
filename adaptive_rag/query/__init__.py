"""Question -> queries: what is searched for."""

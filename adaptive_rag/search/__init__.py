"""Queries -> candidates: search and fusion."""

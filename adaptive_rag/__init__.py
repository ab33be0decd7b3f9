"""Adaptive RAG."""

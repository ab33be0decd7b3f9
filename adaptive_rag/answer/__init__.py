"""Passages -> answer with citations: quoted sentences, a checked draft, or the reason for abstaining."""

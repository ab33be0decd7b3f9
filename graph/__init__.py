"""Wiring only: no prompts, no I/O, no arithmetic."""

"""Chunks on disk, and back by vector or by words."""

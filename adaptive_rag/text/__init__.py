"""Text to sentences: what several rooms need."""

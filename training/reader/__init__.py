"""The small model that reads: the examples it is trained on, and its training."""

"""The reader: the examples that it is trained on, and its training."""

"""Words, sentences and vectors: what several rooms need."""

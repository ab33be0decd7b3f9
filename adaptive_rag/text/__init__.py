"""Words, sentences, markers and vectors: what several rooms need."""

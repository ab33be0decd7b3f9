"""Chat models, embeddings and rerankers, by "provider:name" or as live objects."""

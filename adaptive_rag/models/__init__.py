"""Chat models, embeddings and rerankers, named as "provider:name" or passed as live objects."""

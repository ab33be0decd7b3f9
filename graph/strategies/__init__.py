"""One strategy a file, each a subgraph."""

"""The REST interface: a file for each noun. A route parses, calls the core, and returns a typed model."""

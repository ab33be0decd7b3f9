"""The REST API: one file per noun. A route parses, calls the core, and returns a typed model."""

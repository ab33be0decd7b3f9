"""One step a file: read state and context, call the core, return the keys that change."""

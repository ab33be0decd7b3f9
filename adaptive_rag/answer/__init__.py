"""From passages to an answer with citations: quoted sentences or a checked draft, or why there is none."""

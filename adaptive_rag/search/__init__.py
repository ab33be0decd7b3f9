"""From queries to candidates: search and score fusion."""

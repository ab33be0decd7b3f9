"""The prompts of the skills: one Markdown file each, above its rule the role, below it the request."""

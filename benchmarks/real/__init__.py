"""Questions to real documents that nobody tuned on, and what is measured with them."""

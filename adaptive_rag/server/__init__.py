"""What is served to others: who is let in, and what they may do."""

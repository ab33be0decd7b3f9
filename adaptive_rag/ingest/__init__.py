"""Files to text to chunks."""

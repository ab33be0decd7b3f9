"""The migrations of the database's schema."""

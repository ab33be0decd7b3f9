"""An index in a PostgreSQL database."""

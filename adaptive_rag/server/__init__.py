"""The web app; an empty place until it is built."""

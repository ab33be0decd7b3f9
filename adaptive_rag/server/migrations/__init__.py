"""The forms that the database had, each with the steps to the next."""

"""The table of loaders: which file suffix is read by what; a new format is one file and one line here."""

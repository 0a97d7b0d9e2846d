"""Writing: from what a model foretells to the tokens that are written."""

"""Sequence models, from recurrence to attention: the code behind the book."""

__version__ = "0.1.0"

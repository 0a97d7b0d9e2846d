"""Sequence models, from recurrence to attention: the code behind the book."""

from importlib.metadata import version

__version__ = version("unrolled")

"""``python -m unrolled``: the same as the command ``unrolled``."""

from unrolled.cli import app

app()

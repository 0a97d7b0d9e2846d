"""Readers of what `fetch_from_home` brings: famous sets, never needed by the book."""

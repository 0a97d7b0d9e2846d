"""Figures in the book's style, drawn once for light pages and once for dark ones."""

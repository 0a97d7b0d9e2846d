"""Exercises as they are written: one source each, read with every line known."""

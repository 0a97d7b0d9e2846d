"""Exercises as students hold them: notebooks made, checked, kept and handed in."""

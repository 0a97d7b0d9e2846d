"""Evaluation: numbers, not pictures."""

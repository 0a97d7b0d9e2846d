"""Graded exercises: one source a chapter; student edition, scores and feedback."""

"""Marks: the course's tests on one student's answers."""

"""A whole class: submissions found, graded, told, and reported."""

"""Getting the book's archives, once, and reading them as files."""

"""Real data: one module a corpus, each with its fixed splits."""

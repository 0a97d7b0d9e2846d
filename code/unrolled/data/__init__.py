"""Data: corpora, generated tasks, tokenizers and batches."""

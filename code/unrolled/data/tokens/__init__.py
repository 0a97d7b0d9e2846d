"""Tokenizers: text to numbers and back, without tensors."""

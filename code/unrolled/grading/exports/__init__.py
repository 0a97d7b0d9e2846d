"""The same exercises for the tools that schools run already."""

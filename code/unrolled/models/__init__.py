"""Models: one file each, assembled from layers or written out whole."""

"""Read and write articles, check the changes that a model proposes, and apply them in one transaction."""

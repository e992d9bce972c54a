"""Read the search index: words, similarity, ranking and results."""

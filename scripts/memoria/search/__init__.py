"""Search: the reading side of the search index: tokens, ranking and results."""

"""Indexing: the writing side of the search index, and the sources it is built from."""

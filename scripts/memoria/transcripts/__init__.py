"""Read the client's files as turns, and archive the turns that were kept."""

"""Read the search index: from the words of a query to ranked results."""

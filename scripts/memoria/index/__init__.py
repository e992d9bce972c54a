"""Write the search index, and read the sources that it is built from."""

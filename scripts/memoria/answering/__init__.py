"""Answering: a question answered from the wiki, and a statement traced to the words it came from."""

"""Apply a person's word against the memory: correct, undo, forget, and prove what is gone."""

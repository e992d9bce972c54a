"""Wiki: articles, the checks a proposed change must pass, and the transaction that applies it."""

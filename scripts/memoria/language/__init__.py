"""Know natural language: stop words, stems, similarity, identifiers, and the cues of a correction."""

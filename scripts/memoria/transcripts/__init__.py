"""Transcripts: read the client's files as turns, from raw lines to an archive of what was said."""

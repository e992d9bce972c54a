"""All data of a home as one JSON object, and the way back: docs/export.md describes the format."""

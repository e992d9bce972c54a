"""Remove secrets from text before it is written or shown to a model."""

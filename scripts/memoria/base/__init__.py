"""Base: paths, settings and the other modules that even the hooks need."""

"""Work in the background: flush, choose, compile, consolidate."""

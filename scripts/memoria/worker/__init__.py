"""Work in the background: flush, judge, choose, compile."""

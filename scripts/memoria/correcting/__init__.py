"""A person's word against a claim of an article, and the steps of the wiki that are taken back."""

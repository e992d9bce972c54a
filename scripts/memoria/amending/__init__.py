"""A person's word against a claim or a learned fact, and the steps of the wiki that are taken back."""

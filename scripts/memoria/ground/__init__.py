"""Ground: clock, files, locks, errors and markdown, as every room above uses them."""

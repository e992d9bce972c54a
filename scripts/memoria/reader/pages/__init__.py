"""One module a page: a function that takes a site and what was asked, and returns a view."""

"""The reader in the browser: its server, what protects it, and its pages.

- ``server``: the process of ``memoria open``: one for each home, on loopback, until it is idle or stopped
- ``security``: who may ask for a page, and what a page may do in the browser
- ``app``: every page and action with its path, from a request to a page and back; a new page is one row
- ``pages``: one module a page; each takes ``Site`` and ``Asked`` and returns a ``View``
- ``catalog``: what the pages show of all articles, projects and facts, read once and again when a file has changed
- ``markdown``: Markdown as HTML that loads and runs nothing
"""

"""Models: one protocol, a table of names, and a chain that tries them in order.

``protocol`` holds the protocol and the records that cross it; ``claude`` is the only room that knows the Agent SDK;
``ollama`` speaks HTTP; ``offline`` answers without any model (``summarize`` writes its notes, ``cluster`` its
articles); ``scripted`` is the fake that ships for tests. ``tasks`` asks, ``answer`` checks what came, ``chain`` holds
the table of names. Nothing below this floor knows that models exist.
"""

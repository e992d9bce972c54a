"""Call models through one protocol, by a table of names and a chain that tries them in order.

- ``protocol``: the protocol, and the records that cross it
- ``claude``: the only module that imports the Agent SDK
- ``ollama``: a local server, over HTTP
- ``extractive``: answers without any model, taken from the text itself
- ``scripted``: the fake that ships for tests
- ``tasks``, ``prompts``: what models are asked, and the shape of a good answer
- ``answer``: the check of what a model wrote
- ``chain``: the table of names, and models tried one after the other
- ``metered``, ``budget``, ``prices``: retries, booked calls, and what they may cost

Nothing below this folder knows that models exist.
"""

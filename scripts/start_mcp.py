"""``python3 -S -I scripts/start_mcp.py``: what an MCP client starts, see ``environment.launch``."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memoria.environment.launch import main

main()

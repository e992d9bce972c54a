"""``python3 -S -I scripts/start_mcp.py``: what an MCP client starts, see ``capture.build``."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memoria.capture.build import serve_mcp

serve_mcp()

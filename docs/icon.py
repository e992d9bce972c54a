"""Draw the plugin's icon: an m whose three feet are the nodes of a linked wiki.

``python3 docs/icon.py`` writes ``.claude-plugin/icon.png``, 512 pixels square. Standard library only: shapes are signed
distances (negative inside, in pixels), smoothed over one pixel at their edge; the PNG is written by hand.
"""

from __future__ import annotations

import math
import struct
import sys
import zlib
from pathlib import Path

SIDE = 512
ICON = Path(__file__).resolve().parent.parent / ".claude-plugin" / "icon.png"

Colour = tuple[float, float, float]
TOP: Colour = (38, 43, 84)
BOTTOM: Colour = (20, 22, 44)
STROKE: Colour = (244, 239, 228)
NODE: Colour = (217, 119, 87)

LEGS = (136.0, 256.0, 376.0)
SPRING, FOOT, THICK = 216.0, 356.0, 22.0  # where the arches spring from, where the legs end, half a stroke's width


def rounded_square(x: float, y: float) -> float:
    """Distance to the tile."""
    radius = 112
    dx, dy = (max(abs(value - SIDE / 2) - (SIDE / 2 - radius), 0) for value in (x, y))
    return math.hypot(dx, dy) - radius


def letter(x: float, y: float) -> float:
    """Distance to the strokes of the m: three legs and the two arches between them."""
    legs = min(math.hypot(x - leg, y - min(max(y, SPRING), FOOT)) for leg in LEGS)
    if y > SPRING:
        return legs - THICK
    span = (LEGS[1] - LEGS[0]) / 2
    arches = min(abs(math.hypot(x - leg - span, y - SPRING) - span) for leg in LEGS[:2])
    return min(legs, arches) - THICK


def nodes(x: float, y: float) -> float:
    """Distance to the dots at the feet."""
    return min(math.hypot(x - leg, y - FOOT) for leg in LEGS) - 38


def mixed(under: Colour, over: Colour, share: float) -> Colour:
    """``share`` 0 is all ``under``, 1 is all ``over``."""
    red, green, blue = (a + (b - a) * share for a, b in zip(under, over, strict=True))
    return red, green, blue


def cover(distance: float) -> float:
    """The share of a pixel that a shape covers."""
    return min(max(0.5 - distance, 0.0), 1.0)


def pixel(x: float, y: float) -> bytes:
    """RGBA at a point."""
    colour = mixed(TOP, BOTTOM, y / SIDE)
    colour = mixed(colour, STROKE, cover(letter(x, y)))
    colour = mixed(colour, mixed(TOP, BOTTOM, y / SIDE), cover(nodes(x, y) - 14))  # a gap between stroke and dot
    colour = mixed(colour, NODE, cover(nodes(x, y)))
    return bytes(round(value) for value in (*colour, 255 * cover(rounded_square(x, y))))


def rows() -> bytes:
    """The image's lines, each with PNG filter 0 in front."""
    return b"".join(b"\0" + b"".join(pixel(column + 0.5, line + 0.5) for column in range(SIDE)) for line in range(SIDE))


def png(lines: bytes) -> bytes:
    """A PNG (RFC 2083) of 8-bit RGBA lines."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


if __name__ == "__main__":
    ICON.write_bytes(png(rows()))
    sys.stdout.write(f"wrote {ICON}\n")

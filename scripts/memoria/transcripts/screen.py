"""Screen: which turns may not be kept, because of their own line's folder or because their text was forgotten."""

from __future__ import annotations

from dataclasses import replace

from memoria.base import exclude
from memoria.base.paths import Paths
from memoria.base.settings import Settings
from memoria.capture import transcript
from memoria.ground.home import Home
from memoria.transcripts.json_lines import objects
from memoria.transcripts.tombstones import Tombstones
from memoria.transcripts.turn import Turn

FORGOTTEN = "forgotten"


class Screen:
    """The excluded folders and forgotten texts of one home, as they were when it was made."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self.settings = settings
        self.paths = paths
        self.tombstones = Tombstones.of(paths)
        self._reasons: dict[str, str] = {}

    @classmethod
    def of(cls, home: Home) -> Screen:
        """Return the screen of a home."""
        return cls(home.settings, home.paths)

    def excluded(self, cwd: str) -> str:
        """Return why nothing from this folder is kept, ``""`` when it is."""
        if cwd not in self._reasons:
            self._reasons[cwd] = exclude.reason(cwd, self.settings, self.paths)
        return self._reasons[cwd]

    def reason(self, turn: Turn, cwd: str) -> str:
        """Return why a turn is not kept, ``""`` when it is; ``cwd`` is its folder if its own line names none."""
        if reason := self.excluded(turn.cwd or cwd):
            return reason
        return FORGOTTEN if self.tombstones and self.tombstones.holds("\n".join((turn.text, *turn.tools))) else ""

    def shown(self, turn: Turn, *, has_excluded: bool) -> tuple[Turn | None, str]:
        """Return a turn without the lines that hold a forgotten text, or None and the reason why nothing is left.

        ``has_excluded``: turns of excluded folders are shown.
        """
        if not has_excluded and (reason := self.excluded(turn.cwd)):
            return None, reason
        without = self.tombstones.without
        if not self.tombstones or not self.tombstones.holds("\n".join((turn.text, *turn.tools))):
            return turn, ""
        tools = tuple(tool for tool in turn.tools if without(tool) == tool)
        rest = replace(turn, text=without(turn.text), tools=tools)
        is_clean = not self.tombstones.holds("\n".join((rest.text, *rest.tools)))
        return (rest, "") if is_clean and (rest.text.strip() or tools) else (None, FORGOTTEN)

    def passing(self, lines: list[bytes], *, is_out: bool = False) -> tuple[list[bytes], bool]:
        """Return the lines of a transcript that may be kept, and whether the last one is of an excluded folder.

        A line that names no folder belongs to that of the line before; ``is_out``: before the first one it is excluded.
        """
        if is_out or any(map(self.excluded, transcript.folders(b"".join(lines)))):
            inside = []
            for line in lines:
                named = [value["cwd"] for value in objects(line) if isinstance(value.get("cwd"), str)]
                is_out = bool(self.excluded(named[-1])) if named else is_out
                inside += [] if is_out else [line]
            lines = inside
        return [line for line in lines if not self.tombstones.line_holds(line)], is_out

"""Team: statements that the people of a repository share with one another, as plain markdown that they review.

``render`` gives the file of one person in ``.claude/memory``; that person commits it, so review, rights and history
are those of the repository. Of it only what is merged is read, and only after the user's yes for this repository; it
is shown as the team's (``statements.shared``) and never becomes a part of the user's memory, so that nobody who may
write there speaks as the user or changes what the user said.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from memoria.base import exclude, invocation, project
from memoria.base.atomic import PRIVATE
from memoria.base.project import Place
from memoria.ground import clock, files, markdown
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.projects import ask_git
from memoria.ground.redact import Redactor
from memoria.pages import notices
from memoria.statements import shared
from memoria.statements.fact import KINDS, Fact, make_plain
from memoria.statements.keeper import Keeper
from memoria.statements.shared import Shared
from memoria.transcripts.screen import Tombstones
from memoria.wiki.article import Article, Section

FOLDER: Final = ".claude/memory"
NOTICE: Final = "team"
MAX_FILES, MAX_BYTES, MAX_STATEMENTS, MAX_CHARS = 50, 200_000, 200, 1_000  # of a repository, a file, a statement
_MERGED: Final = ("HEAD", "main", "master")  # the names of a repository's default branch, the first that is there
_WHO: Final = re.compile(r"# Shared by ([\w .'-]{1,40})")
_ROW: Final = re.compile(r"(?:[-*+]|\d+[.)])\s+\[(\w+)\] (.+?)(?: \((\d{4}-\d\d-\d\d)\))?(?: \^(l-[0-9a-z]{8}))?")
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)  # which a review does not show
_NO_LETTERS: Final = re.compile(r"[^\w-]+")


# -- what one shares


def who_shares(place: Place) -> str:
    """Return the name that the user's git writes into commits there; raise ExpectedError for none."""
    name = make_plain((ask_git(place.git, "config", "user.name", as_user=True) or "").strip(), 40)
    if not _NO_LETTERS.sub("", name):
        raise ExpectedError("Git knows no name of yours. `git config --global user.name NAME` tells it.")
    return name


def path_of(root: str, who: str) -> Path:
    """Return the file of a person in a checkout."""
    return Path(root, FOLDER, _NO_LETTERS.sub("-", who.casefold()).strip("-") + ".md")


def read_own(root: str, path: Path) -> str:
    """Return what a person's file says; raise ExpectedError for one that is no file of this checkout's, or no text."""
    folder = Path(root).resolve()
    if path.is_symlink() or path.parent.resolve() != folder / FOLDER:
        raise ExpectedError(f"{path} is, or lies in, a link that leads elsewhere. Remove the link, and share again.")
    try:
        return path.read_text("utf-8") if path.exists() else ""
    except ValueError as error:
        raise ExpectedError(f"{path} is no UTF-8 text; put it right or delete it, and share again.") from error


def may_hold_secret(text: str, redactor: Redactor) -> bool:
    """Return whether a text holds a secret or a private passage, also one that was made plain."""
    return any(redactor.redact(each) != each for each in (text, html.unescape(text)))


def render(before: str, who: str, facts: Iterable[tuple[str, Fact]], over: Iterable[str] = ()) -> str:
    """Return a person's file with these statements, each below a heading, and without those that are ``over`` (ids).

    What else stands in it stays as it is.
    """
    page, gone = Article("team", before if before.strip() else f"# Shared by {who}\n"), set(over)
    for section in (Section("", "", page.lead), *page.sections):
        rows: list[str] = []
        for text, own in section.pieces():
            ident = found[4] if (found := _ROW.fullmatch(text.rstrip())) else ""
            rows += [] if ident in gone else [text] if ident else own
        section.rows[:] = rows
    for heading, fact in facts:
        row = f"- [{fact.kind}] {fact.content} ({(fact.last or fact.time).date().isoformat()}) ^{fact.id}"
        every = [page.lead, *(section.rows for section in page.sections)]
        there = ((rows, number) for rows in every for number, each in enumerate(rows) if each.endswith(f"^{fact.id}"))
        rows, at = next(there, ([], -1))
        if rows:
            rows[at] = row
        else:
            page.section(heading).add(row)
    return page.render().rstrip("\n") + "\n"


# -- what others share


def ask(home: Home, cwd: str) -> None:
    """Tell the user once of a repository that offers statements and was not asked about yet."""
    place = project.place(cwd)
    if not place.git or not Path(place.root, FOLDER).is_dir() or place.git in shared.read_all(home.paths):
        return
    if (tree := _tree(place)) and (rows := read_offer(place, tree, Redactor(home.settings.redact_extra))):
        offer = f"{Path(place.root).name} offers what its team shares, {len(rows)} in all"
        way = f"There, {invocation.command('share --accept')} takes it, `--decline` leaves it."
        notices.tell(home.paths, NOTICE, f"memoria: {offer}. {way}")


def decide(home: Home, place: Place, *, takes: bool) -> None:
    """Note the user's yes or no for a repository."""
    known, remotes = shared.read_all(home.paths), _remotes(place)
    if takes and remotes is None:
        raise ExpectedError("Git cannot be asked about this repository; check that `git status` works here.")
    key = project.key_of(place.root, home.settings, home.paths) if takes else ""
    about = {"root": place.root, "key": key, "remotes": remotes or "", "tree": "", "rows": []}
    clones = [git for git, other in known.items() if not takes and remotes and other["remotes"] == remotes]
    _write(home, known | dict.fromkeys((*clones, place.git), about))  # a no is one for all clones
    notices.tell(home.paths, NOTICE, "")


def follow(home: Home, keeper: Keeper, holds: Callable[[str], bool] = lambda _: False) -> bool:
    """Read what accepted repositories share now, without what ``holds``; return whether it is something else."""
    before = shared.read_all(home.paths)
    looked = {git: _look(home, keeper, git, about, holds) for git, about in before.items()}
    now = shared.read_all(home.paths)  # the user may have decided anew meanwhile
    after = {git: looked[git] if about == before.get(git) else about for git, about in now.items()}
    _write(home, {git: about for git, about in after.items() if about})
    return after != before


def _look(
    home: Home, keeper: Keeper, git: str, about: dict[str, Any], holds: Callable[[str], bool]
) -> dict[str, Any] | None:
    """Return what is known of a repository now; None for another one in its place, about which is asked anew."""
    place = project.place(str(about["root"]))
    if not about["key"]:
        return about
    if place.git != git or exclude.reason(place.root, home.settings, home.paths):
        return about | {"tree": "", "rows": []}
    key, remotes = project.key_of(place.root, home.settings, home.paths), _remotes(place)
    known = project.read(home.paths.projects).current(about["key"]), about["remotes"]
    if remotes is not None and known != (key, remotes):
        return None
    tree, rows = _tree(place), about["rows"]
    if tree is not None and tree != about["tree"]:
        found = read_offer(place, tree, Redactor(home.settings.redact_extra))
        tree, rows = (about["tree"], rows) if found is None else (tree, found)
    gone, stones = keeper.store.deleted_ids(), Tombstones(home.paths)
    rows = [row for row in rows if not (row.source in gone or keeper.store.get(row.source)
            or holds(said := f"{row.who}: {row.text}") or stones.purge(said) != said)]  # fmt: skip
    return about | {"key": key, "tree": about["tree"] if tree is None else tree, "rows": rows}


def read_offer(place: Place, tree: str, redactor: Redactor) -> list[Shared] | None:
    """Return what a repository shares in the folder whose git object is ``tree``; None when git cannot say it all."""
    found: list[Shared] = []
    listed = ask_git(place.git, "ls-tree", "-z", "-l", tree) if tree else ""
    if listed is None:
        return None
    wanted = [row.partition("\t") for row in listed.split("\0") if row.startswith("100") and row.endswith(".md")]
    for about, _, name in wanted[:MAX_FILES]:
        _, _, blob, size = about.split()
        text = ask_git(place.git, "cat-file", "blob", blob) if int(size) <= MAX_BYTES else ""
        if text is None:
            return None
        found += _read_file(redactor.redact(_COMMENT.sub("", text)), make_plain(redactor.redact(Path(name).stem), 40))
    return found


def _read_file(text: str, who: str) -> list[Shared]:
    """Return the statements of one file in the form that ``render`` gives them, outside code."""
    found: list[Shared] = []
    rows = [row for row, in_code in markdown.code_rows(text.split("\n")) if not in_code]
    for row, _ in Section("", "", rows).pieces():
        if title := _WHO.fullmatch(row.strip()):
            who = title[1]
        elif (said := _ROW.fullmatch(row.strip())) and said[1] in KINDS:
            day = said[3] if said[3] and clock.is_day(said[3]) and said[3] <= f"{clock.now():%Y-%m-%d}" else ""
            found.append(Shared(who, said[1], make_plain(said[2], MAX_CHARS), day, said[4] or ""))
    return found[:MAX_STATEMENTS]


def _tree(place: Place) -> str | None:
    """Return the object of the folder as it is merged, and not on other branches, in a fork or unsaved.

    ``""`` for none, None when git cannot be asked. Of several remotes ``origin`` counts; without one, the own branch.
    """
    where = "refs/remotes/*/" if _remotes(place) else "refs/heads/"
    told = ask_git(place.git, "for-each-ref", "--format=%(refname)", *(f"{where}{name}" for name in _MERGED))
    if told is None:
        return None
    refs = told.split()
    bases = {ref.rpartition("/")[0] for ref in refs}
    base = "refs/remotes/origin" if "refs/remotes/origin" in bases or len(bases) != 1 else bases.pop()
    ref = next((f"{base}/{name}" for name in _MERGED if f"{base}/{name}" in refs), "")
    listed = ask_git(place.git, "ls-tree", "--full-tree", ref, FOLDER) if ref else ""
    return None if listed is None else listed.split()[2] if listed.startswith("040000") else ""


def _remotes(place: Place) -> str | None:
    """Return a repository's remotes as its configuration names them; None when git cannot be asked."""
    told = ask_git(place.git, "config", "--local", "--list")
    return None if told is None else "\n".join(row for row in told.split("\n") if re.match(r"remote\..*\.url=", row))


def _write(home: Home, known: dict[str, Any]) -> None:
    if known != shared.read_all(home.paths):
        files.replace(Path(home.paths.team), json.dumps(known, ensure_ascii=False), mode=PRIVATE)

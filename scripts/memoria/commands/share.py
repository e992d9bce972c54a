"""Share: write chosen statements into the repository for its team, or take in what the team shares there."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoria.base import exclude, project
from memoria.base.project import Place
from memoria.base.visibility import Visibility
from memoria.daily.entry import Reference
from memoria.exchange import team
from memoria.ground import files
from memoria.ground.errors import ExpectedError
from memoria.ground.home import Home
from memoria.ground.printable import amount, confirm
from memoria.ground.projects import ask_git
from memoria.ground.redact import Redactor
from memoria.pages.refresh import renew
from memoria.statements import shared
from memoria.statements.fact import Fact
from memoria.statements.keeper import Keeper
from memoria.wiki.folder import Wiki, find_slug

OWN = "Statements"  # the heading of what is shared by itself


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("what", nargs="*", help="articles (name or path) or statements (l-…)")
    parser.add_argument("--yes", action="store_true", help="write without asking")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--project", action="store_true", help="all that holds in this project, or everywhere")
    which.add_argument("--accept", action="store_true", help="take in what this repository's team shares, from now on")
    which.add_argument("--decline", action="store_true", help="take nothing from this repository, and what came out")


def command(args: argparse.Namespace, home: Home) -> int:
    """Write after a look at the changes, or decide about what the team shares."""
    place = project.place(str(Path.cwd()))
    if not place.git:
        raise ExpectedError("This folder is in no git repository; go to one whose team shares what it knows.")
    key = project.key_of(str(Path.cwd()), home.settings, home.paths)
    if exclude.reason(str(Path.cwd()), home.settings, home.paths) and not args.decline:
        raise ExpectedError("This project is excluded: nothing of it is shared or taken in.")
    with Keeper.at(home) as keeper:
        if args.accept or args.decline:
            return _decide(home, keeper, place, takes=args.accept)
        return _share(args, home, keeper, place, list(_choose(args, home, keeper, key)))


def _decide(home: Home, keeper: Keeper, place: Place, *, takes: bool) -> int:
    team.decide(home, place, takes=takes)
    team.follow(home, keeper)
    renew(home, keeper)
    if not takes:
        print("Nothing of this repository's team is shown any more.")
        return 0
    rows = shared.read_all(home.paths)[place.git]["rows"]
    print("".join(f"{row.who}: {row.text}\n" for row in rows), end="")
    print(f"{amount(len(rows), 'statement')} taken in; what its team merges on the default branch comes by itself.")
    if not rows:
        print(f"Git holds no {team.FOLDER} of that branch here, or does not know the branch "
              "(`git remote set-head origin --auto` tells it).")  # fmt: skip
    return 0


def _choose(args: argparse.Namespace, home: Home, keeper: Keeper, key: str) -> Iterator[tuple[str, Fact]]:
    """Yield the statements to share, each with its heading."""
    wiki = Wiki(home.paths)
    if args.project:
        yield from ((OWN, fact) for fact in keeper.store.facts(project=key))
    for name in args.what:
        if Reference.of(name):
            yield OWN, keeper.get(name)
            continue
        slug = find_slug(name, set(wiki.slugs()))
        article = wiki.get(slug) if slug else None
        if article is None:
            raise ExpectedError(f"There is no article {name!r}.")
        for claim in article.claims:
            fact = keeper.store.get(claim.id) if claim.id else None
            if fact:
                yield article.title, fact


def _share(
    args: argparse.Namespace, home: Home, keeper: Keeper, place: Place, chosen: Sequence[tuple[str, Fact]]
) -> int:
    redactor, view = Redactor(home.settings.redact_extra), Visibility(home.settings, home.paths)
    mine = [(heading, fact) for heading, fact in chosen if not fact.ended]
    if held := [fact.id for heading, fact in mine
                if any(team.may_hold_secret(text, redactor) for text in (heading, fact.content))]:  # fmt: skip
        raise ExpectedError(f"{', '.join(held)} may hold a secret; nothing was written.")
    if hidden := [fact.id for _, fact in mine if all(map(view.hides, fact.projects))]:
        raise ExpectedError(f"{', '.join(hidden)} belongs to an excluded project; nothing was written.")
    who = team.who_shares(place)
    root = project.place(str(Path.cwd()), split_worktrees=True).root  # of this worktree, where the person commits
    path = team.path_of(root, who)
    before = team.read_own(root, path)
    if not (args.what or args.project or before):
        raise ExpectedError("Name an article or a statement (l-…), or use --project.")
    ended = {fact.id for fact in keeper.store.facts(live=False) if fact.ended} | set(keeper.store.deleted_ids())
    after = team.render(before, who, mine, ended)
    if after == before or not (before or mine):
        print("Nothing to change: the repository holds all of it." if before else "There is no statement to share.")
        return 0
    name = path.relative_to(root).as_posix()
    rows = difflib.unified_diff(before.splitlines(), after.splitlines(), name, name, lineterm="")
    print("\n".join(rows))
    if not args.yes and not confirm(f"Write {name}?", f"Add --yes to write {name}."):
        print("Nothing was written.")
        return 1
    files.make_folder(path.parent)
    files.replace(path, after)
    is_ignored = ask_git(place.git, "--work-tree", root, "check-ignore", str(path)) is not None
    way = f"Git ignores it, so run `git add -f {name}` and commit it" if is_ignored else "Commit it"
    print(f"Written to {name}. {way}; your team takes it in once it is merged.")
    return 0

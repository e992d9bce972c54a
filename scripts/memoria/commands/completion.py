"""Completion: a script that completes memoria's verbs, options and their values in bash, zsh or fish.

The script is made of the parsers themselves. It asks memoria nothing while a person types.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SHELLS = ("bash", "zsh", "fish")
SETUP = (
    'bash: put `eval "$(memoria completion bash)"` into ~/.bashrc. zsh: the same with zsh into ~/.zshrc, after '
    "compinit. fish: `memoria completion fish > ~/.config/fish/completions/memoria.fish`."
)


@dataclass(frozen=True)
class Option:
    """One option of a verb, or one positional argument without names; ``values``: those that it takes, if fixed."""

    names: tuple[str, ...]
    about: str
    values: tuple[str, ...]
    has_value: bool


@dataclass(frozen=True)
class Verb:
    """A verb as the shell completes it."""

    name: str
    about: str
    options: tuple[Option, ...]

    @property
    def words(self) -> list[str]:
        """Return what may follow the verb: its options, and the fixed values of its arguments."""
        return [word for option in self.options for word in option.names or option.values]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``memoria completion SHELL``."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that you use")
    parser.epilog = SETUP


def without_home(args: argparse.Namespace) -> int:
    """Print the script; ``args.parsers`` returns the parser of each verb, with its help."""
    parsers: Mapping[str, argparse.ArgumentParser] = args.parsers()
    verbs = [Verb(name, parser.description or "", tuple(_options(parser))) for name, parser in parsers.items()]
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell]
    sys.stdout.write("\n".join(write(verbs)) + "\n")
    return 0


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:  # noqa: SLF001 (argparse lists them nowhere else)
        if action.help != argparse.SUPPRESS:
            values = tuple(map(str, action.choices or ()))
            yield Option(tuple(action.option_strings), action.help or "", values, action.nargs != 0)


def _bash(verbs: list[Verb]) -> Iterator[str]:
    yield "_memoria() {"
    yield '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} words=""'
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    words="{" ".join(verb.name for verb in verbs)} --help --version"'
    yield '  else case "$verb $before" in'
    for verb in verbs:
        for option in verb.options:
            if option.names and option.has_value:
                patterns = "|".join(f'"{verb.name} {name}"' for name in option.names)
                yield f'    {patterns}) words="{" ".join(option.values)}" ;;'
        yield f'    "{verb.name} "*) words="{" ".join(verb.words)}" ;;'
    yield "  esac; fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _memoria memoria"


def _zsh(verbs: list[Verb]) -> Iterator[str]:
    yield "#compdef memoria"
    yield "_memoria() {"
    yield "  if (( CURRENT == 2 )); then"
    yield "    local -a verbs=("
    yield from (f"      {_in_quotes(verb.name + ':' + verb.about)}" for verb in verbs)
    yield "    )"
    yield "    _describe verb verbs; return"
    yield "  fi"
    yield "  local verb=$words[2]; shift words; (( CURRENT-- ))"
    yield "  case $verb in"
    for verb in verbs:
        yield f"    {verb.name}) _arguments {' '.join(_zsh_specs(verb))} ;;"
    yield "  esac"
    yield "}"
    yield 'if [ "$funcstack[1]" = "_memoria" ]; then _memoria "$@"; else compdef _memoria memoria; fi'


def _zsh_specs(verb: Verb) -> Iterator[str]:
    for option in verb.options:
        values = f"({' '.join(option.values)})" if option.values else "_files"
        about = "".join(" " if letter in "[]:" else letter for letter in option.about)
        for name in option.names:
            yield _in_quotes(f"{name}[{about}]" + (f":value:{values}" if option.has_value else ""))
        if not option.names:
            yield _in_quotes(f"*::{about}:{values}")


def _fish(verbs: list[Verb]) -> Iterator[str]:
    for verb in verbs:
        yield f"complete -c memoria -f -n __fish_use_subcommand -a {verb.name} -d {_in_quotes(verb.about)}"
    for verb in verbs:
        start = f"complete -c memoria -n '__fish_seen_subcommand_from {verb.name}'"
        for option in verb.options:
            values = f" -a {_in_quotes(' '.join(option.values))}" if option.values else ""
            names = "".join(f" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in option.names)
            kind = " -x" if option.values and names else " -r" if option.has_value and names else ""
            if names or values:
                yield f"{start}{names}{kind}{values} -d {_in_quotes(option.about)}"


def _in_quotes(text: str) -> str:
    """Return text between single quotes, which nothing in these shells expands; an apostrophe becomes typographic."""
    return "'" + text.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").replace("\\", " ").replace("\n", " ") + "'"

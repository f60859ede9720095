"""Which key stands for which class, at the terminal and in the browser.

A class whose name is one character has that key. Others have a letter of their name, their initial where that
is free; a digit stands for a class only if it is its number. What is no class (skip, unsure, ...) gives way
to a class of that name, and then has another key.
"""

import re
import string
from collections.abc import Mapping, Sequence

Commands = Mapping[str, tuple[str, str, str]]
"""The key of what is no class, what it is called, and keys for when a class has taken it."""

COMMANDS: Commands = {
    "skip": ("s", "skip", "-,;"),
    "unsure": ("?", "unsure", "/!~"),
    "undo": ("u", "undo", "<_^"),
    "more": (" ", "read on", ">+="),
    "leave": ("q", "leave", ".:@"),
}
"""Those of the terminal."""


def keys_for(names: Sequence[str], commands: Commands = COMMANDS) -> list[str] | None:
    """The key of each class; None where the classes outnumber the keys, and have to be written out.

    >>> keys_for(["roads", "waste", "water"]), keys_for(["0", "1", "2"]), keys_for(["s", "sport"])
    (['r', 'w', 'a'], ['0', '1', '2'], ['s', 'p'])
    """
    taken = {name: name for name in names if len(name) == 1}
    reserved = set(command_keys(names, commands).values())
    letters = [key for key in string.ascii_lowercase if key not in reserved]
    wishes = {name: _wishes(name) for name in names if name not in taken}
    for name in wishes:
        wishes[name] += letters
    used = {key.lower() for key in taken} | reserved
    # First choices come before second ones, so that as many classes as possible have their initial.
    for place in range(max(map(len, wishes.values()), default=0)):
        for name, wanted in wishes.items():
            if name not in taken and place < len(wanted) and wanted[place] not in used:
                taken[name] = wanted[place]
                used.add(wanted[place])
    return [taken[name] for name in names] if len(taken) == len(names) else None


def _wishes(name: str) -> list[str]:
    """The keys that a class would like: its number where that is a digit, its initials, its other letters."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    numbers = re.findall(r"\d+", name)
    number = numbers if len(numbers) == 1 and len(numbers[0]) == 1 else []
    initials = [word[0] for word in words]
    return list(dict.fromkeys([*number, *initials, *"".join(words)]))


def command_keys(names: Sequence[str], commands: Commands = COMMANDS) -> dict[str, str]:
    """The key of each command, none of which is a class.

    >>> command_keys(["s", "q"])["skip"], command_keys(["cat", "dog"])["skip"]
    ('-', 's')
    """
    classes = {name.lower() for name in names}
    return {
        what: next(key for key in (own, *others) if key not in classes)
        for what, (own, _, others) in commands.items()
    }

"""`adaptive-rag recipes`: describe each published system that can be run, in five lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adaptive_rag.cli import options
from adaptive_rag.cli.output import print_block, print_json, print_line, stdout

if TYPE_CHECKING:
    from adaptive_rag.recipes import Recipe


def recipes(as_json: options.Json = False) -> None:
    """Explain the published systems that --recipe runs, and the chat calls that each plans."""
    from adaptive_rag.recipes import NAMES, load_recipe

    loaded = [load_recipe(name) for name in NAMES]
    if as_json:
        print_json(loaded)
        return
    for recipe in loaded:
        stdout().print()
        print_line(recipe.name, style="bold")
        for line in recipe.about:
            print_block(line, hanging=2)
        print_block(format_calls(recipe), style="dim", hanging=2)
    stdout().print()
    print_line('  adaptive-rag ask "your question" --docs your-folder --recipe NAME', style="dim")


def format_calls(recipe: Recipe) -> str:
    """Return the number of chat calls that a recipe plans for a question of each type."""
    if len(set(recipe.calls.values())) == 1:
        calls = f"{next(iter(recipe.calls.values()))} for every question"
    else:
        calls = ", ".join(f"{name} {count}" for name, count in recipe.calls.items())
    # A recipe with a window sets no k.
    depth = f" at k = {recipe.settings['k']}" if "k" in recipe.settings else ""
    return f"Chat calls{depth}: {calls}."

"""Play the Shannon game, with ipywidgets: guess letter after letter, as a model does.

The model is :func:`unrolled.recipes.shannon_game.game_model`, the one that the page
carries. Axes: T letters.
"""

from dataclasses import dataclass, field
from html import escape

import ipywidgets
import torch

from unrolled.data.tokens.letters import LETTERS
from unrolled.evaluation.guessing import entropy_bounds, ranks_of
from unrolled.evaluation.perplexity import bits_per_token
from unrolled.recipes.shannon_game import HELD_OUT, SHANNON, game_model, letter_ids


@dataclass(kw_only=True, slots=True)
class Game:
    """A sentence, and how many guesses each of its letters has taken so far."""

    sentence: str
    ranks: list[int] = field(default_factory=list)
    tried: str = ""

    @property
    def over(self) -> bool:
        """Say whether every letter has been found."""
        return len(self.ranks) == len(self.sentence)

    def guess(self, letter: str) -> bool:
        """Guess the next letter; say whether it is right. One tried twice is free."""
        if letter not in LETTERS.characters or len(letter) != 1:
            raise ValueError(f"{letter=} must be a space or one of a to z")
        if self.over or letter in self.tried:
            return False
        self.tried += letter
        if letter != self.sentence[len(self.ranks)]:
            return False
        self.ranks.append(len(self.tried))
        self.tried = ""
        return True


def score(game: Game) -> dict[str, float]:
    """Return bits a letter, of what was found: the reader's bounds and the model's.

    A lower bound above the upper one says nothing, and is left out.
    """
    found = letter_ids(game.sentence[: len(game.ranks)])
    lower, upper = entropy_bounds(torch.tensor(game.ranks), len(LETTERS))
    model = game_model()
    least = {"yours, at least about": lower} if lower <= upper else {}
    return least | {
        "yours, at most": upper,
        "the model's": bits_per_token(model.log_probabilities(found)),
        "your first guess right": game.ranks.count(1) / len(game.ranks),
        "the model's first guess right": (ranks_of(model, found) == 1)
        .double()
        .mean()
        .item(),
    }


def live() -> ipywidgets.VBox:
    """Return a choice of sentences, a box to type guesses in, and what they came to."""
    sentences = {"Shannon, 1951": SHANNON} | HELD_OUT
    choice = ipywidgets.Dropdown(options=list(sentences), description="Sentence")
    box = ipywidgets.Text(description="Guess", placeholder="a letter, or a space")
    shown = ipywidgets.HTML()
    game = Game(sentence=sentences[choice.value])

    def refresh() -> None:
        n = len(game.ranks)
        lines = [
            f"<code>{escape(game.sentence[:n]).replace(' ', '␣')}▁</code>",
            f"wrong so far: {escape(' '.join(game.tried).replace(' ', '␣')) or 'none'}",
        ]
        if n:
            lines += [f"{name}: {value:.2f}" for name, value in score(game).items()]
        shown.value = "<br>".join(lines)

    def typed(change: dict[str, str]) -> None:
        for letter in change["new"].lower():
            if letter in LETTERS.characters:
                game.guess(letter)
        if change["new"]:
            box.value = ""
        refresh()

    def start(change: dict[str, str]) -> None:
        nonlocal game
        game = Game(sentence=sentences[change["new"]])
        refresh()

    choice.observe(start, names="value")
    box.observe(typed, names="value")
    refresh()
    return ipywidgets.VBox([choice, box, shown])

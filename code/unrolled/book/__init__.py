"""What a chapter is written with, in one import.

``from unrolled.book import claim, lab, quiz, ...``

- :func:`~unrolled.book.claims.claim` asserts a sentence by the numbers measured for it,
  and :func:`~unrolled.book.claims.with_interval` puts the mean over seeds and the ends
  of its interval among them;
- :func:`~unrolled.recipes.results.results` reads what a recipe has found,
  :func:`~unrolled.recipes.replay.replay` makes its first updates again and compares, as
  :func:`~unrolled.recipes.replay.agrees` does with a unit that the chapter has run;
- :func:`~unrolled.widgets.lab` and :func:`~unrolled.widgets.live` show an interactive
  figure, :func:`~unrolled.figures.style.themed` makes a drawing fit for both themes;
- :func:`~unrolled.book.quizzes.quiz` asks questions, which
  :func:`~unrolled.book.quizzes.question` makes;
- :func:`~unrolled.book.sources.show` shows the source of an object of the package;
- :func:`~unrolled.runtime.progress` puts a bar on a loop that takes long.

What they leave in a notebook are records, not pictures: :mod:`unrolled.book.drawing`
draws them, in the page and in a live notebook.
"""

from unrolled.book.claims import claim, with_interval
from unrolled.book.quizzes import question, quiz
from unrolled.book.sources import show
from unrolled.figures.style import themed
from unrolled.recipes.replay import agrees, replay
from unrolled.recipes.results import results
from unrolled.runtime import progress
from unrolled.widgets import lab, live

__all__ = [
    "agrees",
    "claim",
    "lab",
    "live",
    "progress",
    "question",
    "quiz",
    "replay",
    "results",
    "show",
    "themed",
    "with_interval",
]

"""The command line of trained models: ``unrolled sample`` and ``unrolled eval``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from unrolled.cli.finding import CORPORA, find_model, read_text
from unrolled.cli.plainly import plainly

if TYPE_CHECKING:
    from unrolled.decoding.sampling import Chooser

app = typer.Typer()
MOST = 1024  # tokens that are read at once when a text is scored
LOGITS = 1 << 24  # numbers that are held at once then
Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A checkpoint's file, a name in book/_static/models, or smollm2.",
    ),
]


@contextmanager
def _plainly() -> Iterator[None]:
    """Say what is wrong as all commands do; to stop is nothing wrong."""
    with plainly():
        try:
            yield
        except KeyboardInterrupt:
            typer.echo()
            raise typer.Exit(130) from None


@app.command()
def sample(
    name: Model,
    prompt: Annotated[str, typer.Option(help="What the text begins with.")] = "",
    tokens: Annotated[int, typer.Option(help="How many to write.")] = 200,
    temperature: Annotated[
        float, typer.Option(help="Below 1 safer, above 1 wilder; 0: the likeliest.")
    ] = 1.0,
    top_k: Annotated[int | None, typer.Option(help="Draw of the k likeliest.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Draw of the likeliest, with share p in all.")
    ] = None,
    beams: Annotated[
        int | None, typer.Option(help="Draw nothing: search with so wide a beam.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The same seed, the same text.")
    ] = None,
    number: Annotated[int, typer.Option(help="How many texts.")] = 1,
) -> None:
    """Let a trained model write, and watch it do so.

    Try: unrolled sample smollm2 --prompt "The capital of France is" --tokens 20
    """
    with _plainly():
        from unrolled.decoding.text import best_texts, reads_source, write
        from unrolled.shapes import at_least

        at_least(1, tokens=tokens, number=number)
        if beams is not None:
            if (temperature, top_k, top_p, seed) != (1.0, None, None, None):
                raise ValueError("--beams draws nothing: leave out how to draw")
            at_least(number, beams=beams)
        choose = _chooser(temperature, top_k, top_p, seed)
        model, tokenizer = find_model(name)
        shown = "" if reads_source(model) else prompt  # its own text goes on from it
        if beams is not None:
            found = best_texts(model, tokenizer, prompt, n_tokens=tokens, n_beams=beams)
            for text, score in found[:number]:
                typer.echo(f"[{score:.2f}] {_shown(shown + text)}")
            return
        for place in range(number):
            if place:
                typer.echo("-" * 40)
            pieces = write(model, tokenizer, prompt, n_tokens=tokens, choose=choose)
            typer.echo(shown, nl=False)
            for piece in pieces:
                typer.echo(_shown(piece), nl=False)
            typer.echo()


@app.command("eval")
def evaluate(
    name: Model,
    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help=f"A file, or a corpus ({', '.join(CORPORA)}): its test part, unless "
            "another is named, as in kjv:validation.",
        ),
    ],
    characters: Annotated[
        int | None, typer.Option(help="Read only so much of the text.")
    ] = None,
) -> None:
    """Measure how well a trained language model foretells a text.

    Every token but the first is foretold from those before it, as many as the model
    can read. Bits of a character or byte can be compared between tokenizers.

    Try: unrolled eval NAME shakespeare --characters 50000
    """
    with _plainly():
        from unrolled.decoding.text import reads_source
        from unrolled.evaluation.language_model import score_text
        from unrolled.shapes import at_least

        if characters is not None:
            at_least(1, characters=characters)
        what = read_text(text)[:characters]
        model, tokenizer = find_model(name)
        if reads_source(model):
            raise ValueError(f"{name} writes of a source: it is no language model")
        width = 1 + min(MOST, getattr(model.config, "n_positions", MOST))
        n_rows = max(1, min(16, LOGITS // (width * len(tokenizer))))
        found = score_text(
            model, tokenizer, what, width=width, n_rows=n_rows, progress=True
        )
        typer.echo(f"tokens              {found.n_tokens:,}")
        typer.echo(f"loss                {found.nats:.4f} nats a token")
        typer.echo(f"perplexity          {found.perplexity:.3f}")
        typer.echo(f"bits per character  {found.bits_per_character:.4f}")
        typer.echo(f"bits per byte       {found.bits_per_byte:.4f}")


def _chooser(
    temperature: float, k: int | None, p: float | None, seed: int | None
) -> "Chooser":
    """Return how to choose a token; without a seed, each time another way."""
    import torch

    from unrolled.decoding.sampling import greedy, sampler

    generator = torch.Generator()
    generator.seed() if seed is None else generator.manual_seed(seed)
    if temperature == 0:
        if (k, p) != (None, None):
            raise ValueError(
                "temperature 0 takes the likeliest: leave out top-k, top-p"
            )
        return greedy
    return sampler(generator=generator, temperature=temperature, k=k, p=p)


def _shown(piece: str) -> str:
    """Return what a model wrote, without what would command a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in piece)

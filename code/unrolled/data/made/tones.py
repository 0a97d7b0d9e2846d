r"""Syllables of tones: sound whose units and boundaries are known to the sample.

There are sixteen units, four kinds (a steady *tone*, a *rise*, a *fall*, a *hiss*: a
tone of random strength) at four pitches. Eight syllables are made of two units each,
and every unit belongs to one syllable only, so that half a syllable foretells the
other half: something to learn for a model that fills in what was masked. A speaker has
a pitch and a loudness of their own. Axes: B utterances, T samples. U counts
the units of an utterance.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.shapes import at_least

RATE = 4000  # samples a second
KINDS = ("tone", "rise", "fall", "hiss")
PITCHES = (300.0, 450.0, 675.0, 1012.5)  # Hz, a musical fifth apart
N_UNITS = len(KINDS) * len(PITCHES)  # unit = 4 · kind + pitch
SYLLABLES = tuple((unit, (unit + 5) % N_UNITS) for unit in range(0, N_UNITS, 2))
SILENCE = -1
SWEEP = 0.5  # octaves from one end of a rise or fall to the other
SPEAKERS = (0.85, 1.18)  # lowest and highest voice; less than half a fifth each way
FADE = 40  # samples over which a unit swells and dies away: 10 ms
GRAIN = 16  # samples between two random strengths of a hiss


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterances:
    """Waveforms and what is in them.

    ``waves`` (B, T) float32; ``syllables`` (B, U / 2); ``units`` (B, U) with unit ``k``
    of a row in the samples from ``bounds[:, k]`` up to ``bounds[:, k + 1]``, of (B, U +
    1); after the last there is silence. ``frequencies`` (B, T) in hertz at each sample,
    0 in silence; ``pitches`` and ``loudnesses`` (B,) are the speakers'.
    """

    waves: Tensor
    syllables: Tensor
    units: Tensor
    bounds: Tensor
    frequencies: Tensor
    pitches: Tensor
    loudnesses: Tensor


def units_at(utterances: Utterances, samples: Tensor) -> Tensor:
    """Return the unit that sounds at each of ``samples`` (F,), or SILENCE: (B, F)."""
    place = _places(utterances.bounds, samples)
    n_units = utterances.units.shape[1]
    unit = utterances.units.gather(1, place.clamp(max=n_units - 1))
    return torch.where(place < n_units, unit, SILENCE)


def frame_units(utterances: Utterances, hop: int) -> Tensor:
    """Return the unit in the middle of each whole frame of ``hop`` samples: (B, F)."""
    at_least(1, hop=hop)
    n_frames = utterances.waves.shape[1] // hop
    return units_at(utterances, torch.arange(n_frames) * hop + hop // 2)


def _places(bounds: Tensor, samples: Tensor) -> Tensor:
    asked = samples.expand(len(bounds), -1).contiguous()
    return torch.searchsorted(bounds, asked, right=True) - 1  # U means: after the last


def _frequencies(units: Tensor, progress: Tensor) -> Tensor:
    """Return hertz for a neutral speaker, ``progress`` from 0 to 1 through the unit."""
    kinds, pitch = units // len(PITCHES), torch.tensor(PITCHES)[units % len(PITCHES)]
    direction = torch.tensor([0.0, 1.0, -1.0, 0.0])[kinds]
    return pitch * 2 ** (SWEEP * direction * (progress - 0.5))


def _grain(n_rows: int, n_samples: int, generator: torch.Generator) -> Tensor:
    """Return random strengths (B, T), straight lines between draws GRAIN apart."""
    knots = torch.randn(n_rows, n_samples // GRAIN + 2, generator=generator)
    place, share = torch.arange(n_samples) // GRAIN, torch.arange(n_samples) % GRAIN
    share = share / GRAIN
    return knots[:, place] * (1 - share) + knots[:, place + 1] * share


def tones(
    n_rows: int,
    n_syllables: int,
    *,
    shortest: float = 0.06,
    longest: float = 0.12,
    noise: float = 0.02,
    generator: torch.Generator,
) -> Utterances:
    """Draw utterances of ``n_syllables`` syllables by one random speaker a row.

    Every unit lasts from ``shortest`` to ``longest`` seconds; the waveform has room for
    the longest, so T depends on the settings alone. ``noise`` is the standard deviation
    of the white noise over all of it; a loud speaker's tone has amplitude 1.
    """
    at_least(1, n_rows=n_rows, n_syllables=n_syllables)
    least, most = round(shortest * RATE), round(longest * RATE)
    if not 2 * FADE <= least <= most:
        raise ValueError(
            f"{shortest=} and {longest=} must be seconds, the shorter first, "
            f"from {2 * FADE / RATE} up"
        )
    if noise < 0:
        raise ValueError(f"{noise=} is a standard deviation and must be at least 0")

    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(n_rows, generator=generator)

    which = torch.randint(len(SYLLABLES), (n_rows, n_syllables), generator=generator)
    units = torch.tensor(SYLLABLES)[which].flatten(1)  # (B, U)
    lasts = torch.randint(least, most + 1, units.shape, generator=generator)
    bounds = torch.cat([torch.zeros(n_rows, 1).long(), lasts.cumsum(dim=1)], dim=1)
    pitches, loudnesses = between(*SPEAKERS), between(0.3, 1.0)

    n_samples = units.shape[1] * most
    samples = torch.arange(n_samples)
    place = _places(bounds, samples)  # (B, T)
    sounds = place < units.shape[1]
    place = place.clamp(max=units.shape[1] - 1)
    unit, since = units.gather(1, place), samples - bounds.gather(1, place)
    last = lasts.gather(1, place)
    hertz = _frequencies(unit, since / last) * pitches[:, None] * sounds
    # Phase is the running sum of frequency: in double, or it drifts over a long wave.
    phase = 2 * torch.pi * (hertz.double() / RATE).cumsum(dim=1)
    fade = (torch.minimum(since, last - since) / FADE).clamp(0, 1)
    strength = torch.sin(torch.pi / 2 * fade) ** 2 * loudnesses[:, None] * sounds
    hiss = unit // len(PITCHES) == KINDS.index("hiss")
    grain = _grain(n_rows, n_samples, generator)
    strength = torch.where(hiss, strength * grain, strength)
    white = torch.randn(n_rows, n_samples, generator=generator)
    return Utterances(
        waves=strength * phase.sin().float() + noise * white,
        syllables=which,
        units=units,
        bounds=bounds,
        frequencies=hertz,
        pitches=pitches,
        loudnesses=loudnesses,
    )

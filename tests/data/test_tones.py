"""Tones: what is said to sound is what a Fourier transform hears."""

import numpy as np
import pytest
import torch

from unrolled.data.made.tones import (
    FADE,
    KINDS,
    N_UNITS,
    PITCHES,
    RATE,
    SILENCE,
    SPEAKERS,
    SWEEP,
    SYLLABLES,
    frame_units,
    tones,
    units_at,
)
from unrolled.runtime import generator


def segments(utterances):
    """Yield each unit with its row, kind, neutral pitch and own samples."""
    for row, units in enumerate(utterances.units.tolist()):
        bounds = utterances.bounds[row].tolist()
        for unit, a, b in zip(units, bounds, bounds[1:], strict=False):
            pitch = PITCHES[unit % 4] * utterances.pitches[row].item()
            yield row, KINDS[unit // 4], pitch, utterances.waves[row, a:b].numpy()


def spectrum(wave, n=1 << 14):
    window = wave * np.hanning(len(wave))
    return np.fft.rfftfreq(n, 1 / RATE), np.abs(np.fft.rfft(window, n))


def heard(wave):
    """Return the loudest frequency of a short piece of sound."""
    frequencies, strength = spectrum(wave)
    return frequencies[strength.argmax()]


@pytest.fixture(scope="module")
def clean():
    return tones(12, 12, noise=0.0, generator=generator(0))


def test_a_tone_sounds_at_its_frequency(clean):
    found = [(p, heard(w)) for _, kind, p, w in segments(clean) if kind == "tone"]
    assert len(found) > 20
    for pitch, loudest in found:
        assert loudest == pytest.approx(pitch, abs=1.0)


@pytest.mark.parametrize(("kind", "way"), [("rise", 1), ("fall", -1)])
def test_a_sweep_goes_from_one_end_to_the_other(clean, kind, way):
    found = [(p, w) for _, k, p, w in segments(clean) if k == kind]
    assert len(found) > 20
    for pitch, wave in found:
        for share in (0.25, 0.75):
            middle, half = int(share * len(wave)), len(wave) // 6
            expected = pitch * 2 ** (way * SWEEP * (share - 0.5))
            piece = wave[middle - half : middle + half]
            assert heard(piece) == pytest.approx(expected, rel=0.04)


def test_frequencies_are_those_of_the_phase(clean):
    for row in range(len(clean.waves)):
        for unit, a, b in zip(
            clean.units[row].tolist(),
            clean.bounds[row, :-1].tolist(),
            clean.bounds[row, 1:].tolist(),
            strict=True,
        ):
            if KINDS[unit // 4] == "hiss":
                continue
            loud = clean.waves[row, a + FADE : b - FADE].double()
            loud = loud / clean.loudnesses[row]
            # A sine of slowly changing frequency: x(n-1) + x(n+1) = 2 x(n) cos w.
            inner = loud[1:-1]
            fit = (inner * (loud[:-2] + loud[2:])).sum() / (2 * inner.square().sum())
            mean = clean.frequencies[row, a + FADE + 1 : b - FADE - 1].mean().item()
            heard_at = fit.acos().item() * RATE / (2 * np.pi)
            assert heard_at == pytest.approx(mean, rel=0.02)
            assert loud.abs().max().item() == pytest.approx(1.0, abs=0.06)


def test_a_sweep_begins_and_ends_a_quarter_octave_off(clean):
    bounds, units = clean.bounds, clean.units
    for row, (kinds, speaker) in enumerate(zip(units // 4, clean.pitches, strict=True)):
        for k, kind in enumerate(kinds.tolist()):
            way = {"rise": 1, "fall": -1}.get(KINDS[kind], 0)
            neutral = PITCHES[units[row, k] % 4] * speaker.item()
            a, b = bounds[row, k].item(), bounds[row, k + 1].item()
            ends = clean.frequencies[row, [a, b - 1]].tolist()
            expected = [neutral * 2 ** (way * SWEEP * e) for e in (-0.5, 0.5)]
            assert ends == pytest.approx(expected, rel=0.002)
            mid = clean.frequencies[row, (a + b) // 2].item()
            assert mid == pytest.approx(neutral, rel=0.005)


def test_a_hiss_is_spread_about_its_pitch_as_no_tone_is(clean):
    def width(kind):
        found = []
        for _, k, pitch, wave in segments(clean):
            if k == kind:
                frequencies, strength = spectrum(wave)
                power = strength**2 / (strength**2).sum()
                centre = (frequencies * power).sum()
                assert abs(centre - pitch) < 60
                found.append((((frequencies - pitch) ** 2 * power).sum()) ** 0.5)
        return np.median(found)

    assert width("hiss") > 2 * width("tone")


def test_boundaries_are_where_the_sound_fades(clean):
    shorts = []
    for row, bounds in enumerate(clean.bounds.tolist()):
        assert bounds[0] == 0
        lasts = np.diff(bounds)
        assert lasts.min() >= 0.06 * RATE
        assert lasts.max() <= 0.12 * RATE
        shorts += lasts.tolist()
        for b in bounds:
            assert clean.waves[row, max(b - 1, 0) : b + 2].abs().max() < 0.02
        end = bounds[-1]
        assert not clean.waves[row, end:].any()
        assert not clean.frequencies[row, end:].any()
    assert np.mean(shorts) == pytest.approx(0.09 * RATE, rel=0.03)
    assert clean.waves.shape == (12, 24 * 480)
    assert clean.waves.dtype == torch.float32


def test_every_frame_is_labelled_by_the_unit_in_its_middle(clean):
    labels = frame_units(clean, 80)
    assert labels.shape == (12, clean.waves.shape[1] // 80)
    for row, bounds in enumerate(clean.bounds.tolist()):
        for f, label in enumerate(labels[row].tolist()):
            sample = f * 80 + 40
            inside = [k for k in range(24) if bounds[k] <= sample < bounds[k + 1]]
            expected = [clean.units[row, k].item() for k in inside] or [SILENCE]
            assert [label] == expected
    # to the very sample: the last of a unit and the first of the next
    b = clean.bounds[0, 1].item()
    pair = units_at(clean, torch.tensor([b - 1, b]))[0]
    assert torch.equal(pair, clean.units[0, :2])


def test_half_a_syllable_foretells_the_other_half(clean):
    assert sorted(unit for pair in SYLLABLES for unit in pair) == list(range(N_UNITS))
    pairs = clean.units.unflatten(1, (-1, 2))
    assert torch.equal(pairs, torch.tensor(SYLLABLES)[clean.syllables])
    drawn = tones(200, 10, shortest=0.02, longest=0.02, generator=generator(1))
    shares = torch.bincount(drawn.syllables.flatten(), minlength=8) / 2000
    assert (shares - 1 / 8).abs().max() < 0.03
    after = torch.zeros(8, 8)
    befores, nexts = drawn.syllables[:, :-1].flatten(), drawn.syllables[:, 1:].flatten()
    after.index_put_((befores, nexts), torch.ones(1800), accumulate=True)
    assert (after / 1800 - 1 / 64).abs().max() < 0.015


def test_speakers_differ_but_never_as_much_as_two_pitches():
    drawn = tones(500, 1, generator=generator(2))
    low, high = SPEAKERS
    assert drawn.pitches.min() >= low
    assert drawn.pitches.max() <= high
    assert drawn.pitches.max() - drawn.pitches.min() > 0.9 * (high - low)
    assert high * PITCHES[0] < low * PITCHES[1]
    assert high * PITCHES[-1] * 2 ** (SWEEP / 2) < RATE / 2
    assert drawn.loudnesses.min() >= 0.3
    assert drawn.loudnesses.max() <= 1


def test_noise_has_its_spread_and_the_seed_decides(clean):
    noisy = tones(12, 12, noise=0.05, generator=generator(0))
    assert torch.equal(noisy.units, clean.units)
    spread = (noisy.waves - clean.waves).std().item()
    assert spread == pytest.approx(0.05, rel=0.02)
    again = tones(12, 12, noise=0.05, generator=generator(0))
    assert torch.equal(noisy.waves, again.waves)
    other = tones(12, 12, generator=generator(1))
    assert not torch.equal(other.units, clean.units)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"n_syllables": 0}, "n_syllables=0 must be at least 1"),
        (
            {"shortest": 0.01},
            r"shortest=0.01 and longest=0.12 must be seconds.*0.02 up",
        ),
        (
            {"longest": 0.05},
            "shortest=0.06 and longest=0.05 must be seconds, the short",
        ),
        ({"noise": -1.0}, "noise=-1.0 is a standard deviation and must be at least 0"),
    ],
)
def test_settings_that_make_no_sound_are_named(wrong, message):
    settings = {"n_rows": 1, "n_syllables": 1} | wrong
    with pytest.raises(ValueError, match=message):
        tones(**settings, generator=generator(0))


def test_a_frame_of_no_samples_is_named(clean):
    with pytest.raises(ValueError, match="hop=0 must be at least 1"):
        frame_units(clean, 0)

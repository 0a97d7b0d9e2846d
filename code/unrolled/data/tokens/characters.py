"""Characters as tokens: the smallest vocabulary and the longest sequences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from unrolled.data.tokens.vocabulary import find, from_json, number, spell, to_json


@dataclass(frozen=True, kw_only=True, slots=True)
class Characters:
    """One token for each character (code point), after the special tokens.

    A character that was not seen is an error, unless ``<unk>`` is among the specials:
    then it is encoded as that. Otherwise decoding returns the very text.
    """

    characters: str
    specials: tuple[str, ...] = ()
    tokens: tuple[str, ...] = field(init=False, repr=False, compare=False)
    ids: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for special in self.specials:
            if len(special) < 2:
                raise ValueError(
                    f"{special=} must be longer than a character, to be no text"
                )
        tokens = (*self.specials, *self.characters)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "ids", number(tokens))

    @classmethod
    def of(cls, text: str, *, specials: Iterable[str] = ()) -> Self:
        """Return the tokenizer of all characters in ``text``, in code-point order."""
        return cls(characters="".join(sorted(set(text))), specials=tuple(specials))

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """Return the id of every character."""
        return find(text, self.ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of the ids, without the specials other than ``<unk>``."""
        return "".join(spell(ids, self.tokens, len(self.specials)))

    def to_json(self) -> str:
        """Return this tokenizer as JSON."""
        return to_json("characters", characters=self.characters, specials=self.specials)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the tokenizer that ``to_json`` wrote."""
        values = from_json(text, "characters")
        return cls(characters=values["characters"], specials=tuple(values["specials"]))

"""Every model comes back from its file as it was; other files are refused."""

import json
import re
import sys
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from unrolled import models
from unrolled.data.tokens.bpe_training import train_bpe
from unrolled.data.tokens.byte_level import ByteLevel
from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.vocabulary import EOS
from unrolled.data.tokens.wordpiece import SPECIALS, WordPiece
from unrolled.data.tokens.words import Words
from unrolled.models import checkpoints, serialise
from unrolled.models.checkpoints import load, save
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.models.serialise import build, model_class
from unrolled.models.tagger import Tagger, TaggerConfig
from unrolled.models.tdnn import TDNN, TDNNConfig
from unrolled.models.transformer import Transformer, TransformerConfig
from unrolled.models.window_lm import WindowLM, WindowLMConfig
from unrolled.runtime import book_folder

SMALL = {"n_classes": 3, "n_heads": 2, "n_layers": 2, "n_kv_heads": 1, "patch_size": 2}
TEXT = "the cat — the cât — sat on the mat"


def defined():
    """Return all modules that the files of models define, by their full names."""
    found = {}
    for path in sorted(Path(models.__file__).parent.glob("*.py")):
        module = import_module(f"unrolled.models.{path.stem}")
        for name, kind in vars(module).items():
            own = isinstance(kind, type) and kind.__module__ == module.__name__
            if own and issubclass(kind, nn.Module):
                found[f"{module.__name__}.{name}"] = kind
    return found


def can_be_saved(name):
    try:
        return model_class(name) is not None
    except ValueError:
        return False


MODELS = [name for name in defined() if can_be_saved(name)]


def small(kind):
    """Return a small model of a class, whatever it is made from."""
    hints = get_type_hints(kind.__init__)
    return kind(
        **{name: part(name, hint) for name, hint in hints.items() if name != "return"}
    )


def part(name, hint):
    if isinstance(hint, type) and issubclass(hint, nn.Module):
        return small(hint)
    if name == "config":
        needed = (f.name for f in fields(hint) if needs(f))
        return hint(**{field: SMALL.get(field, 4) for field in needed})
    return SMALL[name]


def needs(field):
    """Tell whether a field has to be given, or is worth giving."""
    return field.default is MISSING or field.name in {"n_classes", "n_layers"}


def places(model):
    """Return which names share their memory, as groups."""
    groups: dict[int, set[str]] = {}
    for name, weight in model.state_dict().items():
        groups.setdefault(weight.data_ptr(), set()).add(name)
    return sorted(map(sorted, groups.values()))


def same(a, b):
    assert type(a) is type(b)
    assert getattr(a, "config", None) == getattr(b, "config", None)
    for one, other in (
        (a.state_dict(), b.state_dict()),
        (dict(a.named_buffers()), dict(b.named_buffers())),
    ):
        assert one.keys() == other.keys()
        for name, weight in one.items():
            assert weight.dtype == other[name].dtype, name
            assert torch.equal(weight, other[name]), name
    assert places(a) == places(b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", MODELS)
def test_every_model_comes_back_as_it_was(tmp_path, name, dtype):
    model = small(model_class(name)).to(dtype)
    state = torch.get_rng_state()
    save(tmp_path / "a.safetensors", model)
    found = load(tmp_path / "a.safetensors")
    assert torch.equal(torch.get_rng_state(), state)
    same(found.model, model)
    assert not found.model.training
    assert model.training
    assert found.tokenizer is None
    assert all(p.requires_grad for p in found.model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_made_in_double_precision_comes_back_so(tmp_path, name, monkeypatch):
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        model = small(model_class(name))
    finally:
        torch.set_default_dtype(before)
    save(tmp_path / "a.safetensors", model)
    same(load(tmp_path / "a.safetensors").model, model)
    assert torch.get_default_dtype() == before


def test_every_model_that_is_made_from_plain_values_can_be_saved():
    assert len(MODELS) >= 22
    for name, kind in defined().items():
        made_from = get_type_hints(kind.__init__).keys()
        assert (name in MODELS) == bool(made_from & {"config", "bert"}), name


TOKENIZERS = [
    Characters.of(TEXT, specials=["<pad>", EOS]),
    Words.of([TEXT], min_count=2),
    train_bpe(TEXT * 3, 265, specials=[EOS]),
    ByteLevel(tokens=("<s>", *"theca", "Ġ", "th"), merges=(("t", "h"),), n_specials=1),
    WordPiece(tokens=(*SPECIALS, "the", "cat", "##s")),
]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda t: type(t).__name__)
def test_the_tokenizer_comes_back_too(tmp_path, tokenizer):
    save(tmp_path / "a", Tagger(TaggerConfig(d_in=2, d_hidden=2, d_out=2)), tokenizer)
    found = load(tmp_path / "a").tokenizer
    assert found == tokenizer
    assert found.tokens == tokenizer.tokens
    assert found.encode("the cat") == tokenizer.encode("the cat")


@dataclass(frozen=True, kw_only=True, slots=True)
class TwinConfig:
    n_tokens: int


class Twin(nn.Module):
    """One table to read and to write, and a matrix that lies crosswise in memory."""

    def __init__(self, config: TwinConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.n_tokens, 3)
        self.write = nn.Linear(3, config.n_tokens, bias=False)
        self.write.weight = self.embed.weight
        self.across = nn.Parameter(torch.randn(3, 5).T)
        self.parts = nn.ParameterList(
            torch.randn(2, 4).unbind()
        )  # slices of one memory
        self.register_buffer("empty", torch.zeros(0))
        self.register_buffer("empty_too", torch.zeros(0))
        self.register_buffer("count", torch.tensor(7))


@pytest.fixture(name="twin")
def _twin(monkeypatch):
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "unrolled.models.twin", module)
    monkeypatch.setattr(Twin, "__module__", "unrolled.models.twin")
    return Twin(TwinConfig(n_tokens=4))


def test_tied_weights_are_kept_once_and_stay_tied(tmp_path, twin):
    path = tmp_path / "a.safetensors"
    save(path, twin)
    assert ("embed.weight" in load_file(path)) != ("write.weight" in load_file(path))
    found = load(path).model
    same(found, twin)
    assert found.write.weight is found.embed.weight


def test_nothing_in_the_file_is_pickled_and_it_says_what_it_is(tmp_path):
    path = tmp_path / "a.safetensors"
    config = WindowLMConfig(n_tokens=3, n_context=2, d_embed=2, d_hidden=2)
    save(str(path), WindowLM(config))
    with safe_open(path, "pt") as file:
        about = file.metadata()
    assert about["format"] == "unrolled checkpoint 1"
    assert about["model"] == "unrolled.models.window_lm.WindowLM"
    made_from = {"n_tokens": 3, "n_context": 2, "d_embed": 2, "d_hidden": 2}
    assert json.loads(about["made_from"]) == {"config": made_from}


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "new" / "a.safetensors"
    model = Tagger(TaggerConfig(d_in=2, d_hidden=2, d_out=2))
    save(path, model)

    def half(weights, place, metadata):
        Path(place).write_bytes(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(checkpoints, "save_file", half)
    with pytest.raises(OSError, match="full"):
        save(path, Tagger(TaggerConfig(d_in=3, d_hidden=2, d_out=2)))
    assert [one.name for one in path.parent.iterdir()] == ["a.safetensors"]
    same(load(path).model, model)


def test_no_model_is_imported_before_it_is_asked_for():
    for module in (serialise, checkpoints):
        code = Path(module.__file__).read_text(encoding="utf-8")
        found = set(re.findall(r"(?:from|import) unrolled\.models\.(\w+)", code))
        assert found <= {"serialise"}


@pytest.fixture(name="path")
def _path(tmp_path):
    path = tmp_path / "a.safetensors"
    save(path, Tagger(TaggerConfig(d_in=2, d_hidden=2, d_out=2)), TOKENIZERS[0])
    return path


def rewrite(path, *, drop=(), add=None, **changes):
    """Write the file again with other words or weights in it."""
    weights = load_file(path)
    with safe_open(path, "pt") as file:
        about = {k: v for k, v in (file.metadata() | changes).items() if v is not None}
    kept = {k: v for k, v in weights.items() if k not in drop}
    save_file(kept | (add or {}), path, metadata=about)


FACTS = {"d_in": 2, "d_hidden": 2, "d_out": 2, "n_layers": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": None}, "is no checkpoint of this version: its format is ''"),
        ({"format": "unrolled checkpoint 9"}, "its format is 'unrolled checkpoint 9'"),
        ({"model": None}, "does not say model"),
        ({"model": "Oracle"}, "'Oracle' must be one class of .* found in no module"),
        ({"made_from": "{"}, "cannot be loaded: Expecting"),
        ({"made_from": "[]"}, "cannot be loaded"),
        ({"made_from": "{}"}, "Tagger is made from config, not"),
        ({"made_from": json.dumps({"config": FACTS | {"x": 1}})}, "unexpected .*'x'"),
        ({"made_from": json.dumps({"config": FACTS | {"d_in": 0}})}, "d_in=0 must be"),
        (
            {"made_from": json.dumps({"config": FACTS | {"d_in": 3}})},
            r"weight rnn.* is \(2, 2\) and must be \(.*3.*\)",
        ),
        ({"drop": ["read.bias"]}, "it lacks the weights read.bias"),
        ({"add": {"odd": torch.zeros(1)}}, "its model has no weights odd"),
        ({"tokenizer": '{"kind": "runes"}'}, "tokenizer 'runes' must be one of"),
        ({"tokenizer": '"words"'}, "cannot be loaded"),
        ({"add": {"read.bias": torch.zeros(2).double()}}, "must be of one kind"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_by_its_name(path, change, message):
    rewrite(path, **change)
    with pytest.raises(ValueError, match=message) as error:
        load(path)
    assert str(path) in str(error.value)


HOSTILE = [
    ("os.system", "must be a class of unrolled.models or unrolled.chapters"),
    ("builtins.eval", "must be a class of"),
    ("torch.nn.Linear", "must be a class of"),
    ("unrolled.cli.app", "must be a class of"),
    ("unrolled.data.batch.Batch", "must be a class of"),
    ("unrolled.modelsx.gpt.GPT", "must be a class of"),
    ("unrolled.models._private.GPT", "must be a class of"),
    ("unrolled.models.__init__.GPT", "must be a class of"),
    ("unrolled.models..gpt.GPT", "must be a class of"),
    (".unrolled.models.gpt.GPT", "must be a class of"),
    ("unrolled.models.gpt.GPT.forward", "must be a class of"),
    ("unrolled.models.gpt.GPT\n", "must be a class of"),
    ("unrolled.models.gpt.__builtins__", "must be a class of"),
    ("unrolled.models.checkpoints.load", "must be a class of"),
    ("unrolled.models.os.Path", "is in no module"),
    ("unrolled.models.gpt.nn.Linear", "is in no module"),
    ("unrolled.chapters.c99_nowhere.net.Net", "is in no module"),
    ("unrolled.models.gpt.GPTConfig", "must be an nn.Module that .* defines"),
    ("unrolled.models.checkpoints.TOKENIZERS", "must be an nn.Module that"),
    ("unrolled.models.gpt.Missing", "must be an nn.Module that"),
    ("unrolled.models.gpt.LayerNorm", "must be an nn.Module that .*gpt defines"),
    ("unrolled.models.bert_heads.BERT", "must be an nn.Module that .*heads defines"),
    ("unrolled.models.bert_heads.Pooler", "cannot be saved: it must be made from"),
    ("unrolled.models.classifier.Classifier", "cannot be saved: it must be made"),
    ("Pooler", "cannot be saved"),
    ("", "must be one class of unrolled.models, and is found in no module"),
    ("eval", "must be one class of unrolled.models"),
]


@pytest.mark.parametrize(("name", "message"), HOSTILE)
def test_a_file_that_names_what_is_no_model_of_ours_is_refused(path, name, message):
    rewrite(path, model=name)
    with pytest.raises(ValueError, match=message) as error:
        load(path)
    assert f"{path} cannot be loaded: model {name!r}" in str(error.value)


def test_a_name_from_elsewhere_imports_nothing(path, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(tmp_path)
    rewrite(path, model="trap.Trap")
    with pytest.raises(ValueError, match=r"'trap.Trap' must be a class of"):
        load(path)


def test_a_chapter_may_have_a_model_of_its_own(tmp_path, twin, monkeypatch):
    home = "unrolled.chapters.c01_name.net"
    monkeypatch.setitem(sys.modules, home, sys.modules[__name__])
    monkeypatch.setattr(Twin, "__module__", home)
    save(tmp_path / "a", twin)
    same(load(tmp_path / "a").model, twin)


def test_files_of_before_name_the_class_alone(path):
    before = load(path).model
    rewrite(path, model="Tagger")
    same(load(path).model, before)


def test_a_short_name_of_two_classes_is_refused(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("\nclass Net(nn.Module): pass")
    monkeypatch.setattr(serialise, "__file__", str(tmp_path / "serialise.py"))
    with pytest.raises(ValueError, match=r"'Net' must be one class .* in one, two$"):
        model_class("Net")


def test_the_books_own_files_still_load():
    for name, kind in (("shakespeare", "GPT"), ("character-rnn", "RNNLM")):
        found = load(book_folder() / "_static" / "models" / f"{name}.safetensors")
        assert type(found.model).__name__ == kind


def test_a_field_that_a_config_has_got_since_takes_its_default(path):
    before = load(path).model
    older = {name: value for name, value in FACTS.items() if name != "n_layers"}
    rewrite(path, made_from=json.dumps({"config": older}))
    same(load(path).model, before)
    rewrite(path, made_from=json.dumps({"config": {"d_in": 2, "d_out": 2}}))
    with pytest.raises(ValueError, match=r"cannot be loaded: .* missing .*'d_hidden'"):
        load(path)


def test_a_field_that_a_config_does_not_have_is_named():
    facts = FACTS | {"n_leyers": 2, "colour": "red"}
    message = "unexpected fields 'n_leyers', 'colour': TaggerConfig has d_in, d_hidden"
    with pytest.raises(ValueError, match=message):
        build("unrolled.models.tagger.Tagger", {"config": facts})


def test_files_of_others_are_refused_by_their_names(tmp_path):
    path = tmp_path / "a.safetensors"
    with pytest.raises(FileNotFoundError, match=f"no checkpoint at {path}"):
        load(path)
    with pytest.raises(FileNotFoundError, match=f"no checkpoint at {tmp_path}"):
        load(tmp_path)
    path.write_bytes(b"PK not a checkpoint at all")
    with pytest.raises(ValueError, match=f"{path} is no safetensors file"):
        load(path)
    save_file({"w": torch.zeros(2)}, path)
    with pytest.raises(ValueError, match=f"{path} is no checkpoint"):
        load(path)


class Impostor(nn.Module):
    pass


Impostor.__module__, Impostor.__qualname__ = "unrolled.models.tagger", "Tagger"


class Forgetful(nn.Module):
    def __init__(self, config: TwinConfig, n_classes: int) -> None:
        super().__init__()
        self.config = config


def mixed():
    model = Tagger(TaggerConfig(d_in=2, d_hidden=2, d_out=2))
    model.read.double()
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Linear(2, 2), "model 'torch.nn.modules.linear.Linear' must be a class of"),
        (Impostor(), "is another unrolled.models.tagger.Tagger than the one in its"),
        (Forgetful(TwinConfig(n_tokens=4), 2), "must keep n_classes as an attribute"),
        (mixed(), "must be of one kind"),
        (
            Tagger(TaggerConfig(d_in=2, d_hidden=2, d_out=2)).to("meta"),
            "is on the meta device",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_before_writing(
    tmp_path, model, message, monkeypatch
):
    monkeypatch.setitem(sys.modules, "unrolled.models.twin", sys.modules[__name__])
    monkeypatch.setattr(Forgetful, "__module__", "unrolled.models.twin")
    with pytest.raises(ValueError, match=message):
        save(tmp_path / "a", model)
    assert not list(tmp_path.iterdir())


def test_a_config_that_json_would_change_is_refused(tmp_path, twin):
    object.__setattr__(twin.config, "n_tokens", (4, 4))
    with pytest.raises(ValueError, match=r"\(4, 4\).* must hold plain values only"):
        save(tmp_path / "a", twin)


SIZES = {"d_model": 4, "n_heads": 2, "n_layers": 1, "n_positions": 6}
DEEP = {"widths": (3, 4, 5), "n_delays": (1, 3, 1), "dilations": (1, 2, 1)}


@pytest.mark.parametrize(
    "model",
    [
        Transformer(
            TransformerConfig(n_source=4, n_target=4, d_inner=4, tie="all", **SIZES)
        ),
        GPT(GPTConfig.modern(n_tokens=5, **SIZES)),
        GPT(GPTConfig(n_tokens=5, tied=False, **SIZES)),
        RNNLM(RNNLMConfig(n_tokens=5, d_model=4, cell="gru", tied=False, d_embed=3)),
        TDNN(TDNNConfig(d_in=2, n_classes=2, **DEEP)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_variants_come_back_too(tmp_path, model):
    save(tmp_path / "a", model)
    same(load(tmp_path / "a").model, model)

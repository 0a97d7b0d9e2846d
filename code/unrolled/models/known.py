"""The models that a checkpoint may hold, and what each of them is made from.

Most are made from their config alone. A head on a BERT is made from the BERT, which has
a config, and perhaps from a number of classes. Either way that is plain values, as JSON
has them. Only the module of the model that is asked for is imported.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from importlib import import_module
from typing import Any, get_type_hints

from torch import nn

MODELS: Mapping[str, str] = {  # a class, and the module of unrolled.models it is in
    "BagClassifier": "bag_classifier",
    "BERT": "bert",
    "Forecaster": "forecaster",
    "GPT": "gpt",
    "HMM": "hmm",
    "Llama": "llama",
    "MaskedLM": "bert_heads",
    "NextSentence": "bert_heads",
    "PooledClassifier": "bert_heads",
    "RNNLM": "rnn_lm",
    "Seq2Seq": "seq2seq",
    "SkipGram": "skipgram",
    "SpanFinder": "bert_spans",
    "Tagger": "tagger",
    "TDNN": "tdnn",
    "TextClassifier": "text_classifier",
    "TokenClassifier": "bert_heads",
    "TokenTagger": "token_tagger",
    "Transformer": "transformer",
    "ViT": "vit",
    "ViTClassifier": "vit",
    "WindowLM": "window_lm",
}
PARTS: Mapping[str, Callable[[Any], Any]] = {  # how to find what it was made from
    "config": lambda model: asdict(model.config),
    "bert": lambda model: asdict(model.bert.config),
    "n_classes": lambda model: model.out.out_features,
}


def model_class(name: str) -> type[nn.Module]:
    """Return the class of this name."""
    if name not in MODELS:
        raise ValueError(f"model {name!r} must be one of {', '.join(MODELS)}")
    module = import_module(f"unrolled.models.{MODELS[name]}")
    found: type[nn.Module] = getattr(module, name)
    return found


def describe(model: nn.Module) -> dict[str, Any]:
    """Return what a model is made from, by the names of its constructor."""
    kind: Any = type(model)
    if kind is not model_class(kind.__name__):
        raise ValueError(
            f"model is {kind.__module__}.{kind.__name__}, which is not the one of "
            "unrolled.models"
        )
    return {part: PARTS[part](model) for part in _parts(kind)}


def check_plain(name: str, description: Mapping[str, Any]) -> None:
    """Refuse a description that JSON would bring back changed."""
    parts = _parts(model_class(name))
    for part, value in json.loads(json.dumps(description)).items():
        if isinstance(value, dict):
            value = asdict(_config_class(parts[part])(**value))
        if value != description[part]:
            raise ValueError(
                f"{part}={description[part]} must hold plain values only, as JSON has "
                "them"
            )


def build(name: str, description: Mapping[str, Any]) -> nn.Module:
    """Make the model of this name anew, with weights as they are before training."""
    kind = model_class(name)
    parts = _parts(kind)
    if parts.keys() != description.keys():
        raise ValueError(
            f"{name} is made from {', '.join(parts)}, not {', '.join(description)}"
        )
    return kind(**{part: _part(parts[part], description[part]) for part in parts})


def _parts(kind: Any) -> dict[str, Any]:
    """Return the type of each argument of the constructor."""
    hints = get_type_hints(kind.__init__)
    return {name: hint for name, hint in hints.items() if name != "return"}


def _part(kind: Any, value: Any) -> Any:
    """Return an argument: a number, a config of these values, or a module of one."""
    if not isinstance(value, dict):
        return value
    config = _config_class(kind)(**value)
    return config if is_dataclass(kind) else kind(config)


def _config_class(kind: Any) -> Any:
    """Return a config's class, or that of the config from which a module is made."""
    return kind if is_dataclass(kind) else _parts(kind)["config"]

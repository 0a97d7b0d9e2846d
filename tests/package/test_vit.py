"""Vision Transformer: Hugging Face's numbers, and patches that are a convolution's."""

import json
import re
import sys
from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F
import transformers as hf
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from hf_bert_twins import agree_on_all, same_weights
from twins import shake
from unrolled.data.corpora.digits import digits
from unrolled.models.checkpoints import load, save
from unrolled.models.hf_names import inside, linear, read_weights
from unrolled.models.hf_vit import table
from unrolled.models.vit import ViT, ViTClassifier, ViTConfig, patchify

B = 3
CONFIG = ViTConfig(
    image_size=6,
    patch_size=2,
    n_channels=2,
    d_model=6,
    n_heads=3,
    n_layers=2,
    d_inner=5,
    n_classes=4,
)
PIXELS = (2, 6, 6)


@st.composite
def problems(draw):
    """Draw the settings of a model, the number of images, and a seed."""
    n_heads, patch = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    settings = {
        "image_size": patch * draw(st.integers(1, 3)),
        "patch_size": patch,
        "num_channels": draw(st.integers(1, 3)),
        "hidden_size": n_heads * draw(st.integers(2, 4)),
        "num_attention_heads": n_heads,
        "num_hidden_layers": draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(3, 9)),
        "layer_norm_eps": draw(st.sampled_from([1e-12, 1e-6])),
    }
    return settings, draw(st.integers(1, 3)), draw(st.integers(0, 99))


def their_vit(name="ViTModel", **settings):
    """Return their model, shaken, in evaluation mode."""
    small = {
        "image_size": 6,
        "patch_size": 2,
        "num_channels": 2,
        "hidden_size": 6,
        "num_attention_heads": 3,
        "num_hidden_layers": 2,
        "intermediate_size": 5,
        "attn_implementation": "eager",
    }
    return shake(getattr(hf, name)(hf.ViTConfig(**(small | settings)))).eval()


@pytest.fixture
def model():
    return shake(ViT(CONFIG)).eval()


@settings(max_examples=20)
@given(problem=problems())
def test_vit_agrees_with_hugging_face(agree, problem):
    setup, n_images, seed = problem
    torch.manual_seed(seed)
    theirs = their_vit(**setup)
    ours = ViT.from_hf(theirs)
    size = setup["image_size"]
    pixels = torch.randn(n_images, setup["num_channels"], size, size)
    y, z = ours(pixels), theirs(pixels).last_hidden_state
    assert y.shape[1] == 1 + ours.config.n_patches
    agree_on_all(agree, table(ours.config.n_layers), (ours, theirs), (y, z))


def test_every_layer_and_head_agrees_with_hugging_face(agree):
    theirs = their_vit(num_hidden_layers=3)
    ours, pixels = ViT.from_hf(theirs), torch.randn(B, *PIXELS)
    z = theirs(pixels, output_hidden_states=True, output_attentions=True)
    states, weights = ours.states(pixels), ours.weights(pixels)
    assert (len(states), len(weights)) == (4, 3)
    for a, b in zip(states, z.hidden_states, strict=True):
        agree(a, b, model=True)
    for a, b in zip(weights, z.attentions, strict=True):
        assert a.shape == (B, 3, 10, 10)
        agree(a, b, model=True)
    assert torch.equal(ours.norm(states[-1]), ours(pixels))


def test_dropout_falls_where_hugging_faces_falls(agree):
    rates = {"hidden_dropout_prob": 0.3, "attention_probs_dropout_prob": 0.4}
    theirs = their_vit(attn_implementation="sdpa", **rates).train()
    ours, pixels = ViT.from_hf(theirs), torch.randn(B, *PIXELS)
    results = []
    for run in (ours, theirs):
        torch.manual_seed(1)
        results.append(run(pixels))
    agree(results[0], results[1].last_hidden_state, model=True)
    assert not torch.allclose(results[0], ours.eval()(pixels))


def test_the_classifier_agrees_with_hugging_face(agree):
    theirs = their_vit("ViTForImageClassification", num_labels=4)
    rows = {**inside(table(2), "vit", "vit"), **linear("out", "classifier")}
    ours = read_weights(ViTClassifier(CONFIG).eval(), rows, theirs.state_dict())
    pixels = torch.randn(B, *PIXELS)
    agree_on_all(agree, rows, (ours, theirs), (ours(pixels), theirs(pixels).logits))
    agree(ViT.from_hf(theirs)(pixels), ours.vit(pixels))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_there_and_back_again(dtype, agree):
    theirs = their_vit().to(dtype)
    ours = ViT.from_hf(theirs)
    back = ours.to_hf()
    assert type(back) is hf.ViTModel
    assert not back.training
    assert same_weights(ViT.from_hf(back), ours)
    given, again = theirs.state_dict(), back.state_dict()
    assert all(torch.equal(again[name], given[name]) for name in again)
    assert given.keys() - again.keys() == {"pooler.dense.weight", "pooler.dense.bias"}
    assert replace(CONFIG, n_classes=None) == ours.config
    pixels = torch.randn(B, *PIXELS, dtype=dtype)
    agree(ours(pixels), back(pixels).last_hidden_state, model=True)


@settings(max_examples=25)
@given(
    sizes=st.tuples(*[st.integers(1, 3)] * 5),
    seed=st.integers(0, 99),
)
def test_a_product_with_patches_is_a_convolution(agree, sizes, seed):
    n_rows, n_channels, patch, down, across = sizes
    torch.manual_seed(seed)
    kind = {"dtype": torch.float64}
    pixels = torch.randn(n_rows, n_channels, patch * down, patch * across, **kind)
    kernel = torch.randn(7, n_channels, patch, patch, **kind)
    wanted = F.conv2d(pixels, kernel, stride=patch)  # (B, 7, down, across)
    found = patchify(pixels, patch) @ kernel.flatten(start_dim=1).T
    agree(found, wanted.flatten(start_dim=2).mT)


def test_patches_are_counted_row_by_row():
    pixels = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert patchify(pixels, 2).tolist() == [
        [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    ]
    both = torch.cat([pixels, -pixels], dim=1)
    assert patchify(both, 2)[0, 1].tolist() == [2, 3, 6, 7, -2, -3, -6, -7]


def test_without_positions_order_is_invisible(model, agree):
    """Patches change places: 3 by 3 of them, and the first token is none."""
    pixels, order = torch.randn(B, *PIXELS), torch.randperm(9)
    blocks = pixels.unflatten(3, (3, 2)).unflatten(2, (3, 2))  # (B, c, 3, 2, 3, 2)
    flat = blocks.permute(0, 2, 4, 1, 3, 5).flatten(1, 2)[:, order]
    moved = flat.unflatten(1, (3, 3)).permute(0, 3, 1, 4, 2, 5).reshape(pixels.shape)
    place = torch.cat([torch.zeros(1).long(), 1 + order])
    assert not torch.allclose(model(moved), model(pixels)[:, place])
    nn.init.zeros_(model.positions.table)
    agree(model(moved), model(pixels)[:, place], model=True)


def test_the_first_token_reads_every_pixel(model):
    pixels = torch.randn(1, *PIXELS, requires_grad=True)
    model(pixels)[:, 0].square().sum().backward()
    assert (pixels.grad != 0).all()


def test_an_untrained_model_starts_small():
    sizes = {"d_model": 96, "n_heads": 4, "d_inner": 128, "patch_size": 6}
    model = ViTClassifier(replace(CONFIG, **sizes))
    vit, block = model.vit, model.vit.blocks[0]
    parts = (vit.patches, block.feed_forward.W_1, model.out)
    for weight in (*(part.weight for part in parts), vit.first, vit.positions.table):
        assert 0.015 < weight.std() < 0.025
    assert not any(part.bias.any() for part in parts)
    assert {m.eps for m in model.modules() if hasattr(m, "eps")} == {1e-12}


def test_it_tells_two_digits_apart():
    """Zeros and ones of real writers; those to test stand on other forms."""
    splits = digits()
    sizes = {"n_channels": 1, "d_model": 16, "n_heads": 2, "n_layers": 1, "d_inner": 32}
    model = ViTClassifier(ViTConfig(image_size=8, patch_size=4, n_classes=2, **sizes))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def part(of):
        own = of.labels < 2
        images = torch.from_numpy(of.images[own])[:, None]
        return images, torch.from_numpy(of.labels[own])

    pixels, labels = part(splits.train)
    for _ in range(40):
        loss = F.cross_entropy(model(pixels), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    pixels, labels = part(splits.test)
    right = model.eval()(pixels).argmax(dim=-1) == labels
    assert len(labels) > 40
    assert right.float().mean() > 0.9  # other seeds: 0.96 to 1


def test_a_config_goes_through_json():
    assert ViTConfig(**json.loads(json.dumps(asdict(CONFIG)))) == CONFIG


def test_a_saved_model_is_loaded_as_it_was(tmp_path):
    model = shake(ViTClassifier(CONFIG))
    for part in (model, model.vit):
        save(tmp_path / "vit.safetensors", part)
        again = load(tmp_path / "vit.safetensors").model
        assert again.config == CONFIG
        assert same_weights(again, part)


def test_no_device_is_named_inside():
    pixels = torch.empty(B, *PIXELS, device="meta")
    model = ViTClassifier(CONFIG).to("meta")
    y, z = model(pixels), model.vit(pixels)
    assert y.is_meta
    assert z.is_meta
    assert (y.shape, z.shape) == ((B, 4), (B, 10, 6))


def test_the_compiler_takes_it_whole(agree):
    model, pixels = ViTClassifier(CONFIG).eval(), torch.randn(B, *PIXELS)
    run = torch.compile(model, fullgraph=True, backend="eager")
    agree(run(pixels), model(pixels))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 0}, "n_layers=0 must be at least 1"),
        ({"n_channels": 0}, "n_channels=0 must be at least 1"),
        ({"patch_size": 0}, "patch_size=0 must be at least 1"),
        ({"patch_size": 4}, "image_size=6 must be a multiple of patch_size=4"),
        ({"n_classes": 1}, "n_classes=1 must be at least 2"),
        ({"n_classes": None}, "n_classes=None must be a number, to classify images"),
        ({"p_drop": 1.0}, "p_drop=1.0 must be at least 0 and below 1"),
        (
            {"p_drop_attention": -1},
            "p_drop_attention=-1 must be at least 0 and below 1",
        ),
    ],
)
def test_impossible_sizes_are_named(change, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ViTClassifier(replace(CONFIG, **change))


def test_wrong_pixels_are_named(model):
    pixels = torch.zeros(B, *PIXELS)
    with pytest.raises(ValueError, match=r"^pixels must be \(B, channels, height, wid"):
        model(pixels[0])
    with pytest.raises(ValueError, match="channels should be 2, got 1; its shape"):
        model(pixels[:, :1])
    with pytest.raises(ValueError, match="height should be 6, got 4; its shape"):
        model(pixels[:, :, :4])
    with pytest.raises(ValueError, match="width should be 6, got 4; its shape"):
        model(pixels[..., :4])
    with pytest.raises(ValueError, match=r"^pixels is torch.float64 and the weights a"):
        model(pixels.double())
    says = r"^height=6 and width=4 must be multiples of patch_size=4$"
    with pytest.raises(ValueError, match=says):
        patchify(pixels[..., :4], 4)
    with pytest.raises(ValueError, match=r"^patch_size=0 must be at least 1$"):
        patchify(pixels, 0)


@pytest.mark.parametrize(
    ("setup", "message"),
    [
        ({"hidden_act": "relu"}, "hidden_act='relu' must be 'gelu'"),
        ({"qkv_bias": False}, "qkv_bias=False must be True"),
        ({"image_size": [6, 4]}, "image_size=[6, 4] must be one number: a square"),
    ],
)
def test_another_kind_of_model_is_refused(setup, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        ViT.from_hf(their_vit(**setup))


def test_without_transformers_the_message_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"not installed: pip install transformers$"):
        model.to_hf()

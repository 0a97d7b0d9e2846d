"""What a device gains from, asked of the device; and generators put back exactly."""

import random
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch
from torch import nn

from unrolled import runtime
from unrolled.data.batch import Batch
from unrolled.training import loop
from unrolled.training.loop import TrainConfig, fit

CPU, GPU, MPS = (torch.device(name) for name in ("cpu", "cuda", "mps"))


def pretend_gpu(monkeypatch, *, bfloat16=True, capability=(8, 0), count=2):
    def supported(including_emulation=True):
        return bfloat16 or including_emulation

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_bfloat16_is_for_gpus_that_multiply_in_it(monkeypatch, bfloat16):
    pretend_gpu(monkeypatch, bfloat16=bfloat16)
    assert runtime.gains_from_bfloat16(GPU) is bfloat16
    assert not runtime.gains_from_bfloat16(CPU)
    assert not runtime.gains_from_bfloat16(MPS)


@pytest.mark.parametrize(("capability", "gains"), [((6, 1), False), ((7, 0), True)])
def test_compiling_is_for_gpus_that_triton_knows(monkeypatch, capability, gains):
    pretend_gpu(monkeypatch, capability=capability)
    assert runtime.gains_from_compile(GPU) is gains
    assert not runtime.gains_from_compile(CPU)


def test_fused_optimizers_are_where_torch_has_them():
    assert [runtime.fuses_optimizers(d) for d in (CPU, GPU, MPS)] == [True] * 3
    assert not runtime.fuses_optimizers(torch.device("meta"))


def test_mixed_precision_is_used_where_wanted_and_worth_it(monkeypatch):
    pretend_gpu(monkeypatch)
    asked = []
    monkeypatch.setattr(torch, "autocast", lambda *a, **k: asked.append((a, k)))
    runtime.autocast(GPU, wanted=True)
    assert asked == [(("cuda",), {"dtype": torch.bfloat16})]
    for device, wanted in ((GPU, False), (CPU, True), (CPU, False)):
        assert isinstance(runtime.autocast(device, wanted=wanted), nullcontext)
    assert len(asked) == 1


def batch_of(n):
    return [Batch(x=torch.ones(2, 3), y=torch.zeros(2, 1))] * n


def test_a_loop_in_mixed_precision_keeps_weights_in_float32(monkeypatch):
    monkeypatch.setattr(runtime, "gains_from_bfloat16", lambda device: True)
    kinds, model = [], nn.Linear(3, 1)

    def loss_fn(model, batch):
        found = model(batch.x)
        kinds.append(found.dtype)
        return (found.float() - batch.y).square().mean()

    for wanted in (True, False):
        config = TrainConfig(steps=1, mixed_precision=wanted)
        fit(model, loss_fn, batch_of(1), config)
    assert kinds == [torch.bfloat16, torch.float32]
    assert model.weight.dtype == model.weight.grad.dtype == torch.float32


@pytest.mark.parametrize("wanted", [False, True])
@pytest.mark.parametrize("gains", [False, True])
def test_a_model_is_compiled_if_that_is_wanted_and_worth_it(monkeypatch, wanted, gains):
    monkeypatch.setattr(loop, "gains_from_compile", lambda device: gains)
    monkeypatch.setattr(torch, "compile", lambda model: ("compiled", model))
    seen, model = [], nn.Linear(3, 1)

    def loss_fn(reader, batch):
        seen.append(reader)
        return model(batch.x).square().mean()

    fit(model, loss_fn, batch_of(2), TrainConfig(steps=2, compiled=wanted))
    assert seen == [("compiled", model) if wanted and gains else model] * 2


@contextmanager
def process(monkeypatch, number):
    with monkeypatch.context() as patch:
        patch.setenv("LOCAL_RANK", str(number))
        patch.delenv("UNROLLED_DEVICE", raising=False)
        yield patch


def test_each_process_has_a_gpu_of_its_own(monkeypatch):
    pretend_gpu(monkeypatch, count=2)
    for number in (0, 1):
        with process(monkeypatch, number):
            assert runtime.pick_device() == torch.device("cuda", number)
    with process(monkeypatch, 2):
        message = (
            "^process 2 of this machine has no GPU of its own: there are 2, so "
            "--nproc-per-node must be at most 2$"
        )
        with pytest.raises(ValueError, match=message):
            runtime.pick_device()


def test_a_device_with_a_number_stays_the_one_that_was_named(monkeypatch):
    with process(monkeypatch, 1) as patch:
        patch.setenv("UNROLLED_DEVICE", "cpu")
        assert runtime.pick_device() == CPU


def test_several_processes_do_not_share_mps(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    with process(monkeypatch, 0):
        assert runtime.pick_device() == CPU


def test_processes_talk_by_gloo_and_between_gpus_by_nccl(monkeypatch):
    assert torch.cuda.is_available() or runtime.join_backend() == "gloo"
    pretend_gpu(monkeypatch)
    chosen = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    with process(monkeypatch, 1):
        assert runtime.join_backend() == "cpu:gloo,cuda:nccl"
    assert chosen == [torch.device("cuda", 1)]


def drawn():
    return (
        torch.rand(3).tolist(),
        [random.random(), random.gauss(0, 1)],
        [np.random.rand(), np.random.randn()],
    )


@pytest.mark.parametrize("n_before", [0, 1, 2])
def test_generators_go_on_from_where_they_were(n_before):
    """A spare number that gauss() and randn() keep for their next call is kept too."""
    runtime.seed_all(3)
    for _ in range(n_before):
        drawn()
    random.gauss(0, 1)
    states = {name: held.clone() for name, held in runtime.draws(CPU).items()}
    expected = [drawn() for _ in range(3)]
    runtime.seed_all(4)
    drawn()
    runtime.restore_draws(states, CPU)
    assert [drawn() for _ in range(3)] == expected


def test_the_generator_of_a_gpu_is_kept_and_put_back(monkeypatch):
    held, state = [], torch.arange(16, dtype=torch.uint8)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: state)
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda *a: held.append(a))
    runtime.restore_draws(runtime.draws(GPU), GPU)
    assert held == [(state, GPU)]


def test_processes_that_are_to_use_the_cpu_need_no_gpu(monkeypatch):
    pretend_gpu(monkeypatch, count=1)
    with process(monkeypatch, 1) as patch:
        patch.setenv("UNROLLED_DEVICE", "cpu")
        assert runtime.join_backend() == "gloo"

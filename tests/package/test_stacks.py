"""LSTM, GRU and layers in both directions: torch's numbers and torch's gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.layers.gru import GRUCell, ResetFirstGRUCell
from unrolled.layers.lstm import LSTMCell, PeepholeLSTMCell, chrono_
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.stacks import GRU, LSTM, RNN, Bidirectional, Stack, reverse
from unrolled.layers.states import LSTMState
from unrolled.layers.unroll import unroll
from unrolled.runtime import generator

B, T, E, D, L = 3, 5, 2, 4, 2
TWINS = {RNNCell: nn.RNN, LSTMCell: nn.LSTM, GRUCell: nn.GRU}
CELLS = [*TWINS, PeepholeLSTMCell, ResetFirstGRUCell]


@torch.no_grad()
def copy_to(theirs, cells, ends):
    """Give torch's module the weights of our cells; its second bias is ours or zero."""
    for cell, end in zip(cells, ends, strict=True):
        theirs.get_parameter(f"weight_ih_{end}").copy_(cell.W_x.T)
        theirs.get_parameter(f"weight_hh_{end}").copy_(cell.W_h.T)
        theirs.get_parameter(f"bias_ih_{end}").copy_(cell.b)
        second = theirs.get_parameter(f"bias_hh_{end}").zero_()
        if isinstance(cell, GRUCell):
            second[2 * cell.d_hidden :] = cell.b_h


def run_theirs(theirs, x, state, lengths):
    if lengths is None:
        return theirs(x, state)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, last = theirs(packed, state)
    n_steps = x.shape[1]
    return pad_packed_sequence(outputs, batch_first=True, total_length=n_steps)[0], last


def flat(results):
    """All tensors of (outputs, state), whatever the kind of the state."""
    outputs, state = results
    return (outputs, *(state if isinstance(state, tuple) else (state,)))


def assert_equal_with_gradients(ours, theirs, x, state, lengths, ends, cells, agree):
    given = (x,) if state is None else (x, state)
    mine = flat(ours(*given, lengths=lengths))
    wanted = flat(run_theirs(theirs, x, state, lengths))
    for a, b in zip(mine, wanted, strict=True):
        agree(a, b)
    upstream = [torch.randn_like(a) for a in mine]
    torch.autograd.backward(mine, upstream)
    ours_x, x.grad = x.grad, None
    torch.autograd.backward(wanted, upstream)
    agree(ours_x, x.grad, gradient=True)
    for cell, end in zip(cells, ends, strict=True):
        grads = {
            f"weight_ih_{end}": cell.W_x.grad.T,
            f"weight_hh_{end}": cell.W_h.grad.T,
            f"bias_ih_{end}": cell.b.grad,
        }
        for name, grad in grads.items():
            agree(grad, theirs.get_parameter(name).grad, gradient=True)
        if isinstance(cell, GRUCell):
            second = theirs.get_parameter(f"bias_hh_{end}").grad[2 * cell.d_hidden :]
            agree(cell.b_h.grad, second, gradient=True)


@st.composite
def problems(draw):
    n_rows, n_steps = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    some = st.lists(st.integers(1, n_steps), min_size=n_rows, max_size=n_rows)
    return (
        (n_rows, n_steps, *(draw(st.integers(1, 5)) for _ in range(2))),
        draw(st.integers(1, 3)),
        draw(st.none() | some.map(torch.tensor)),
        draw(st.booleans()),
        draw(st.sampled_from([torch.float32, torch.float64])),
    )


@pytest.mark.parametrize("make_cell", TWINS)
@settings(max_examples=25)
@given(problem=problems())
def test_a_stack_is_torchs(make_cell, problem, agree):
    (n_rows, n_steps, d_in, d_hidden), n_layers, lengths, with_state, dtype = problem
    ours = Stack(make_cell, d_in, d_hidden, n_layers=n_layers).to(dtype)
    theirs = TWINS[make_cell](d_in, d_hidden, n_layers, batch_first=True).to(dtype)
    ends = [f"l{k}" for k in range(n_layers)]
    copy_to(theirs, ours.cells, ends)
    x = torch.randn(n_rows, n_steps, d_in, dtype=dtype, requires_grad=True)
    state = None
    if with_state:
        h, c = torch.randn(2, n_layers, n_rows, d_hidden, dtype=dtype)
        state = LSTMState(h=h, c=c) if make_cell is LSTMCell else h
    assert_equal_with_gradients(
        ours, theirs, x, state, lengths, ends, ours.cells, agree
    )


@pytest.mark.parametrize("make_cell", TWINS)
@settings(max_examples=25)
@given(problem=problems())
def test_layers_in_both_directions_are_torchs(make_cell, problem, agree):
    (n_rows, n_steps, d_in, d_hidden), n_layers, lengths, _, dtype = problem
    ours = Bidirectional(make_cell, d_in, d_hidden, n_layers=n_layers).to(dtype)
    theirs = TWINS[make_cell](
        d_in, d_hidden, n_layers, batch_first=True, bidirectional=True
    ).to(dtype)
    cells = [*ours.ahead, *ours.back]
    ends = [f"l{k}{way}" for way in ("", "_reverse") for k in range(n_layers)]
    copy_to(theirs, cells, ends)
    x = torch.randn(n_rows, n_steps, d_in, dtype=dtype, requires_grad=True)
    assert_equal_with_gradients(ours, theirs, x, None, lengths, ends, cells, agree)


@pytest.mark.parametrize("make_cell", CELLS)
def test_a_cells_gradients_are_those_of_finite_differences(make_cell):
    cell = make_cell(E, D).double()
    x = torch.randn(B, T, E, dtype=torch.float64, requires_grad=True)
    model = Unrolled(cell)
    names, values = zip(*model.named_parameters(), strict=True)

    def shown(x, *weights):
        new = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(model, new, x)[0]

    assert torch.autograd.gradcheck(shown, (x, *values))


class Unrolled(nn.Module):
    """A cell unrolled, as a module."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x, state=None, lengths=None):
        return unroll(self.cell, x, state, lengths=lengths)


class StepByStep(LSTMCell):
    """A cell of another type than the one whose sequences are taken whole."""


def ways_back(cell, x, state, lengths, upstream):
    """Return all h, the last state, and the gradients of all they came from."""
    found = flat(unroll(cell, x, state, lengths=lengths))
    sources = (x, *state, *cell.parameters())
    return [*found, *torch.autograd.grad(found, sources, upstream)]


@settings(max_examples=40)
@given(problem=problems())
def test_an_lstms_sequence_taken_whole_is_its_cell_step_by_step(problem, agree):
    (n_rows, n_steps, d_in, d_hidden), _, lengths, _, dtype = problem
    whole, steps = (kind(d_in, d_hidden).to(dtype) for kind in (LSTMCell, StepByStep))
    steps.load_state_dict(whole.state_dict())
    like = {"dtype": dtype, "requires_grad": True}
    x = torch.randn(n_rows, n_steps, d_in, **like)
    state = LSTMState(*(torch.randn(n_rows, d_hidden, **like) for _ in "hc"))
    shapes = [(n_rows, n_steps, d_hidden), *2 * [(n_rows, d_hidden)]]
    upstream = [torch.randn(shape, dtype=dtype) for shape in shapes]
    found, wanted = (
        ways_back(cell, x, state, lengths, upstream) for cell in (whole, steps)
    )
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        agree(a, b, gradient=k > 2)


@pytest.mark.parametrize("lengths", [None, torch.tensor([2, 3, 1])])
def test_an_lstms_way_back_by_hand_is_that_of_finite_differences(lengths):
    cell = LSTMCell(2, 3).double()
    like = {"dtype": torch.float64, "requires_grad": True}
    given = [torch.randn(*shape, **like) for shape in ((3, 3, 2), (3, 3), (3, 3))]

    def run(x, h, c, *weights):
        values = dict(zip(["W_x", "W_h", "b"], weights, strict=True))
        model, new = Unrolled(cell), {f"cell.{k}": v for k, v in values.items()}
        inputs = {"state": LSTMState(h=h, c=c), "lengths": lengths}
        return flat(torch.func.functional_call(model, new, x, inputs))

    assert torch.autograd.gradcheck(run, (*given, *cell.parameters()))


def test_an_lstms_way_back_can_be_gone_again_and_leaves_out_what_nobody_asks_for():
    cell, x = LSTMCell(E, D), torch.randn(B, T, E)
    loss = unroll(cell, x)[0].square().sum()
    once, again = (
        torch.autograd.grad(loss, cell.W_h, retain_graph=True)[0] for _ in range(2)
    )
    assert torch.equal(once, again)
    loss.backward()
    assert torch.equal(cell.W_h.grad, once)
    assert x.grad is None


def test_only_a_plain_lstms_sequence_is_taken_whole():
    """Peepholes have equations of their own, and so may a student's cell."""

    def whole(cell, n_steps=T):
        node = unroll(cell, torch.randn(B, n_steps, E))[0].grad_fn
        return "LSTMSequence" in type(node).__name__

    assert whole(LSTMCell(E, D))
    assert not any(
        whole(kind(E, D)) for kind in (*CELLS, StepByStep) if kind is not LSTMCell
    )
    assert not whole(LSTMCell(E, D), n_steps=1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not whole(LSTMCell(E, D))


def test_a_gradients_gradient_is_refused_and_the_steps_have_it():
    x = torch.randn(B, T, E, requires_grad=True)
    steps, whole = (
        unroll(kind(E, D), x)[0].square().sum() for kind in (StepByStep, LSTMCell)
    )
    slope = torch.autograd.grad(steps, x, create_graph=True)[0].square().sum()
    assert torch.autograd.grad(slope, x)[0].any()
    with pytest.raises(RuntimeError, match="the way back through an LSTM"):
        torch.autograd.grad(whole, x, create_graph=True)


@pytest.mark.parametrize("make_cell", CELLS)
def test_step_by_step_is_all_at_once(make_cell):
    cell, x, state = make_cell(E, D), torch.randn(B, T, E), None
    whole, last = unroll(cell, x)
    for t in range(T):
        state = cell(x[:, t], state)
        h = state if isinstance(state, torch.Tensor) else state.h
        torch.testing.assert_close(h, whole[:, t])
    for a, b in zip(flat((h, state)), flat((h, last)), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("make_cell", CELLS)
@pytest.mark.parametrize("kind", [Stack, Bidirectional])
def test_padding_reaches_nothing_real(kind, make_cell):
    model = kind(make_cell, E, D, n_layers=L)
    x, lengths = torch.randn(B, T, E), torch.tensor([2, 5, 1])
    padded = x.clone()
    for row, length in enumerate(lengths):
        padded[row, length:] = float("nan")
    for a, b in zip(
        flat(model(x, lengths=lengths)),
        flat(model(padded, lengths=lengths)),
        strict=True,
    ):
        assert torch.equal(a, b)
    alone = flat(model(x[:1, :2]))[0]
    torch.testing.assert_close(flat(model(x, lengths=lengths))[0][:1, :2], alone)


def test_a_stack_is_causal_and_a_bidirectional_one_is_not():
    x = torch.randn(1, T, E)
    changed = x.clone()
    changed[:, 3] += 1
    for make_cell in CELLS:
        stack = Stack(make_cell, E, D)
        assert torch.equal(stack(x)[0][:, :3], stack(changed)[0][:, :3])
        both = Bidirectional(make_cell, E, D)
        assert not torch.allclose(both(x)[0][:, :3], both(changed)[0][:, :3])


class Twice(nn.Module):
    """What stands for dropout where a test wants no chance."""

    def forward(self, x):
        return 2 * x


def test_dropout_falls_between_layers_and_nowhere_else():
    x = torch.randn(B, T, E)
    stack, both = (kind(LSTMCell, E, D, n_layers=L) for kind in (Stack, Bidirectional))
    stack.drop = both.drop = Twice()
    below, above = stack.cells
    assert torch.equal(stack(x)[0], unroll(above, 2 * unroll(below, x)[0])[0])
    lowest = Bidirectional(LSTMCell, E, D)
    lowest.ahead[0], lowest.back[0] = both.ahead[0], both.back[0]
    top = Bidirectional(LSTMCell, 2 * D, D)
    top.ahead[0], top.back[0] = both.ahead[1], both.back[1]
    assert torch.equal(both(x)[0], top(2 * lowest(x)[0])[0])


@pytest.mark.parametrize("kind", [RNN, LSTM, GRU])
def test_dropout_is_for_training_and_none_draws_no_number(kind):
    model, x = kind(E, D, n_layers=L, p_drop=0.5), torch.randn(B, T, E)
    assert not torch.equal(model(x)[0], model(x)[0])
    model.eval()
    assert torch.equal(model(x)[0], model(x)[0])
    before = torch.get_rng_state()
    plain = kind(E, D, n_layers=L)
    plain.load_state_dict(model.state_dict())
    torch.set_rng_state(before)
    assert torch.equal(plain(x)[0], model(x)[0])
    assert torch.equal(torch.get_rng_state(), before)


def test_the_decks_gru_by_hand():
    """004:94-100, gate by gate: W multiplies the state, U the input."""
    cell = ResetFirstGRUCell(E, D)
    assert {name for name, _ in cell.named_parameters()} == {"W_x", "W_h", "b"}
    (U_r, U_u, U_h), (W_r, W_u, W_h), (b_r, b_u, b_h) = (
        p.chunk(3, dim=-1) for p in (cell.W_x, cell.W_h, cell.b)
    )
    x, h = torch.randn(B, E), torch.randn(B, D)
    u = torch.sigmoid(h @ W_u + x @ U_u + b_u)
    r = torch.sigmoid(h @ W_r + x @ U_r + b_r)
    new = torch.tanh((r * h) @ W_h + x @ U_h + b_h)
    torch.testing.assert_close(cell(x, h), (1 - u) * h + u * new)


def test_a_peephole_shut_is_a_plain_lstm_and_an_open_one_is_not():
    cell, x = PeepholeLSTMCell(E, D), torch.randn(B, T, E)
    with torch.no_grad():
        looking = unroll(cell, x)[0]
        for p in (cell.p_i, cell.p_f, cell.p_o):
            p.zero_()
        shut = unroll(cell, x)[0]
    twin = LSTMCell(E, D)
    twin.load_state_dict(
        {name: p for name, p in cell.state_dict().items() if not name.startswith("p_")}
    )
    torch.testing.assert_close(shut, unroll(twin, x)[0])
    assert not torch.allclose(looking, shut)


def test_the_peepholes_look_where_the_equations_say():
    cell = PeepholeLSTMCell(E, D)
    x, state = torch.randn(B, E), LSTMState(*torch.randn(2, B, D))
    a = x @ cell.W_x + state.h @ cell.W_h + cell.b
    i, f, g, o = a.chunk(4, dim=-1)
    i = torch.sigmoid(i + cell.p_i * state.c)
    f = torch.sigmoid(f + cell.p_f * state.c)
    c = f * state.c + i * torch.tanh(g)
    h = torch.sigmoid(o + cell.p_o * c) * torch.tanh(c)
    for a, b in zip(cell(x, state), (h, c), strict=True):
        torch.testing.assert_close(a, b)


def test_the_forget_bias_is_added_to_the_forget_gate_alone():
    torch.manual_seed(0)
    plain = LSTMCell(E, D, forget_bias=0.0)
    torch.manual_seed(0)
    open_ = LSTMCell(E, D, forget_bias=2.0)
    difference = open_.b - plain.b
    assert torch.allclose(difference[D : 2 * D], torch.tensor(2.0))
    assert not difference[:D].any()
    assert not difference[2 * D :].any()


def test_chrono_spreads_the_memories_up_to_the_longest():
    cell = chrono_(LSTMCell(E, 4000), 100, generator=generator(0))
    i, f, g, o = cell.b.chunk(4)
    assert torch.equal(i, -f)
    assert not g.any()
    assert not o.any()
    spans = f.exp()
    assert 1 <= spans.min() < 1.2
    assert 98 < spans.max() <= 99
    assert spans.mean().item() == pytest.approx(50, abs=1.5)
    with pytest.raises(ValueError, match="longest=2 must be at least 3"):
        chrono_(cell, 2, generator=generator(0))


def test_parameters_are_as_one_to_three_to_four():
    """Up to the second bias of the GRU's proposal, which the deck's has not."""
    counts = [sum(p.numel() for p in c(E, D).parameters()) for c in CELLS]
    elman, lstm, gru, _, deck_gru = counts
    assert elman == E * D + D * D + D
    assert (lstm, gru, deck_gru) == (4 * elman, 3 * elman + D, 3 * elman)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_reversing_turns_the_real_part_only_and_twice_is_nothing(lengths):
    x = torch.arange(len(lengths) * 6.0).view(-1, 6)
    turned = reverse(x, torch.tensor(lengths))
    for row, back, n in zip(x.tolist(), turned.tolist(), lengths, strict=True):
        assert back == row[:n][::-1] + row[n:]
    assert torch.equal(reverse(turned, torch.tensor(lengths)), x)
    assert torch.equal(reverse(x), x.flip(1))


@pytest.mark.parametrize("make_cell", CELLS)
@pytest.mark.parametrize("kind", [Stack, Bidirectional])
def test_it_runs_on_meta_and_compiles_in_one_piece(kind, make_cell):
    model, x = kind(make_cell, E, D, n_layers=L), torch.randn(B, T, E)
    lengths = torch.tensor([2, 5, 1])
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    for a, b in zip(
        flat(compiled(x, lengths=lengths)), flat(model(x, lengths=lengths)), strict=True
    ):
        torch.testing.assert_close(a, b)
    outputs = model.to("meta")(x.to("meta"))[0]
    assert outputs.shape == (B, T, D * (2 if kind is Bidirectional else 1))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: LSTM(E, D)(torch.zeros(B, T, E), torch.zeros(1, B, D)),
            r"^the state must be an LSTMState\(h, c\), got a Tensor$",
        ),
        (
            lambda: GRU(E, D)(
                torch.zeros(B, T, E), LSTMState(*torch.zeros(2, 1, B, D))
            ),
            r"^the state must be a tensor, h, got a LSTMState$",
        ),
        (
            lambda: LSTM(E, D)(
                torch.zeros(B, T, E),
                LSTMState(h=torch.zeros(1, B, D), c=torch.zeros(1, B, D + 1)),
            ),
            r"^c_0 must be \(L, B, D\): D should be 4, got 5",
        ),
        (
            lambda: LSTMCell(E, D)(
                torch.zeros(B, E), LSTMState(*torch.zeros(2, B + 1, D))
            ),
            r"^h must be \(B, D\): B should be 3, got 4",
        ),
        (lambda: GRUCell(E, D)(torch.zeros(B, E + 1)), r"^x_t must be \(B, E\)"),
        (lambda: LSTMCell(E, D)(torch.zeros(B, E + 1)), r"^x_t must be \(B, E\)"),
        (lambda: RNN(E, D, n_layers=0), r"^n_layers=0 must be at least 1$"),
        (
            lambda: Bidirectional(LSTMCell, E, D, n_layers=0),
            r"^n_layers=0 must be at least 1$",
        ),
        (lambda: GRU(E, D, p_drop=2.0), r"^dropout probability has to be between"),
        (lambda: LSTMCell(0, D), r"^d_in=0 must be at least 1$"),
        (lambda: GRUCell(E, 0), r"^d_hidden=0 must be at least 1$"),
    ],
)
def test_what_does_not_fit_is_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()

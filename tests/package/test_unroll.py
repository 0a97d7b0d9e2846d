"""The unrolled RNN: torch's numbers, and padding that changes nothing real."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.layers.recurrent import RNNCell
from unrolled.layers.stacks import RNN
from unrolled.layers.unroll import unroll

B, T, E, D, L = 3, 5, 2, 4, 2
LENGTHS = torch.tensor([2, 5, 1])


def torchs_twin(ours):
    """Return torch's RNN with the weights of ours."""
    p = next(ours.parameters())
    theirs = nn.RNN(ours.d_in, ours.d_hidden, ours.n_layers, batch_first=True)
    theirs.to(p.device, p.dtype)
    with torch.no_grad():
        for k, cell in enumerate(ours.cells):
            theirs.get_parameter(f"weight_ih_l{k}").copy_(cell.W_x.T)
            theirs.get_parameter(f"weight_hh_l{k}").copy_(cell.W_h.T)
            theirs.get_parameter(f"bias_ih_l{k}").copy_(cell.b)
            theirs.get_parameter(f"bias_hh_l{k}").zero_()
    return theirs


def run_torchs(theirs, x, h_0, lengths):
    if lengths is None:
        return theirs(x, h_0)
    packed = pack_padded_sequence(
        x, lengths.cpu(), batch_first=True, enforce_sorted=False
    )
    outputs, last = theirs(packed, h_0)
    n_steps = x.shape[1]
    return pad_packed_sequence(outputs, batch_first=True, total_length=n_steps)[0], last


def gradients(model, results, upstream, inputs):
    """Return the gradients of every parameter, by name, and of the inputs."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    grads = torch.autograd.grad(results, (*parameters, *inputs), upstream)
    return dict(zip(names, grads, strict=False)), grads[len(names) :]


def assert_parity(ours, x, h_0, lengths, agree):
    theirs = torchs_twin(ours)
    mine, torchs = ours(x, h_0, lengths=lengths), run_torchs(theirs, x, h_0, lengths)
    for a, b in zip(mine, torchs, strict=True):
        agree(a, b)
    upstream = [torch.randn_like(result) for result in mine]
    inputs = (x,) if h_0 is None else (x, h_0)
    by_name, of_inputs = gradients(ours, mine, upstream, inputs)
    their_names, of_theirs = gradients(theirs, torchs, upstream, inputs)
    for k in range(ours.n_layers):
        W_x, W_h, b = (by_name[f"cells.{k}.{name}"] for name in ("W_x", "W_h", "b"))
        agree(W_x, their_names[f"weight_ih_l{k}"].T, gradient=True)
        agree(W_h, their_names[f"weight_hh_l{k}"].T, gradient=True)
        agree(b, their_names[f"bias_ih_l{k}"], gradient=True)
    for a, b in zip(of_inputs, of_theirs, strict=True):
        agree(a, b, gradient=True)


@st.composite
def problems(draw):
    """Draw shapes, whether there is an h_0, lengths or None, and a seed."""
    n_rows, n_steps = draw(st.integers(1, 4)), draw(st.integers(1, 7))
    sizes = (draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 3)))
    some_lengths = st.lists(st.integers(1, n_steps), min_size=n_rows, max_size=n_rows)
    lengths = draw(st.none() | some_lengths)
    return (
        n_rows,
        n_steps,
        sizes,
        draw(st.booleans()),
        lengths,
        draw(st.integers(0, 99)),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@settings(deadline=None, max_examples=100)
@given(problem=problems())
def test_any_stack_agrees_with_torch(dtype, device, agree, problem):
    n_rows, n_steps, (d_in, d_hidden, n_layers), with_h_0, lengths, seed = problem
    torch.manual_seed(seed)
    ours = RNN(d_in, d_hidden, n_layers=n_layers).to(device, dtype)
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    x = torch.randn(n_rows, n_steps, d_in, **like)
    h_0 = torch.randn(n_layers, n_rows, d_hidden, **like) if with_h_0 else None
    if lengths is not None:
        lengths = torch.tensor(lengths, device=device)
    assert_parity(ours, x, h_0, lengths, agree)


def test_the_lecture_decks_example_agrees_with_torch(agree):
    theirs = nn.RNN(input_size=8, hidden_size=16, num_layers=2)  # time first, as there
    ours = RNN(8, 16, n_layers=2)
    with torch.no_grad():
        for k, cell in enumerate(ours.cells):
            cell.W_x.copy_(theirs.get_parameter(f"weight_ih_l{k}").T)
            cell.W_h.copy_(theirs.get_parameter(f"weight_hh_l{k}").T)
            cell.b.copy_(
                theirs.get_parameter(f"bias_ih_l{k}")
                + theirs.get_parameter(f"bias_hh_l{k}")
            )
    x = torch.randn(5, 1, 8)
    output, h_n = theirs(x)
    assert (output.shape, h_n.shape) == ((5, 1, 16), (2, 1, 16))
    outputs, last = ours(x.transpose(0, 1))
    agree(outputs, output.transpose(0, 1))
    agree(last, h_n)


def test_unrolling_is_calling_the_cell_again_and_again(agree):
    cell, x, h = RNNCell(E, D), torch.randn(B, T, E), torch.randn(B, D)
    outputs, last = unroll(cell, x, h)
    for t in range(T):
        h = cell(x[:, t], h)
        agree(outputs[:, t], h)
    agree(last, h)


def test_no_h_0_is_an_h_0_of_zeros():
    rnn, x = RNN(E, D, n_layers=L), torch.randn(B, T, E)
    for a, b in zip(rnn(x), rnn(x, torch.zeros(L, B, D)), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(
        unroll(rnn.cells[0], x), unroll(rnn.cells[0], x, torch.zeros(B, D)), strict=True
    ):
        assert torch.equal(a, b)


def test_the_last_output_is_the_last_state_of_the_top_layer():
    outputs, last = RNN(E, D, n_layers=L)(torch.randn(B, T, E), lengths=LENGTHS)
    assert torch.equal(outputs[range(B), LENGTHS - 1], last[-1])


def test_the_future_cannot_change_the_past():
    rnn, x = RNN(E, D, n_layers=L), torch.randn(B, T, E)
    changed = x.clone()
    changed[:, 3:] += 1.0
    before, after = rnn(x)[0], rnn(changed)[0]
    assert torch.equal(before[:, :3], after[:, :3])
    assert (before[:, 3:] != after[:, 3:]).any(dim=-1).all()


def test_one_step_at_a_time_is_the_same_as_all_at_once(agree):
    rnn, x = RNN(E, D, n_layers=L), torch.randn(B, T, E)
    h, streamed = torch.randn(L, B, D), []
    outputs, last = rnn(x, h)
    for t in range(T):
        output, h = rnn(x[:, t : t + 1], h)
        streamed.append(output)
    agree(torch.cat(streamed, dim=1), outputs)
    agree(h, last)


@pytest.mark.parametrize("cut", [1, 2, 4])
def test_two_chunks_with_the_state_carried_are_the_whole(cut, agree):
    rnn, x = RNN(E, D, n_layers=L), torch.randn(B, T, E)
    outputs, last = rnn(x)
    first, h = rnn(x[:, :cut])
    second, h = rnn(x[:, cut:], h)
    agree(torch.cat([first, second], dim=1), outputs)
    agree(h, last)


def test_full_lengths_are_no_lengths():
    rnn, x = RNN(E, D, n_layers=L), torch.randn(B, T, E)
    for a, b in zip(rnn(x), rnn(x, lengths=torch.full((B,), T)), strict=True):
        assert torch.equal(a, b)


def test_a_padded_row_is_the_row_alone(agree):
    rnn, x = RNN(E, D, n_layers=L), torch.randn(B, T, E)
    h_0 = torch.randn(L, B, D)
    outputs, last = rnn(x, h_0, lengths=LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        alone, last_alone = rnn(x[row : row + 1, :n], h_0[:, row : row + 1])
        agree(outputs[row : row + 1, :n], alone)
        agree(last[:, row : row + 1], last_alone)
        assert not outputs[row, n:].any()


@pytest.mark.parametrize("garbage", [1e30, -1e30, float("inf"), float("nan")])
def test_nothing_real_depends_on_what_is_in_the_padding(garbage, device):
    rnn = RNN(E, D, n_layers=L).to(device)
    clean, h_0 = (torch.randn(*s, device=device) for s in [(B, T, E), (L, B, D)])
    padding = torch.arange(T) >= LENGTHS[:, None]  # (B, T)
    dirty = clean.clone()
    clean[padding], dirty[padding] = 0.0, garbage
    upstream = [
        torch.randn(B, T, D, device=device),
        torch.randn(L, B, D, device=device),
    ]
    found = []
    for x in (clean, dirty):
        inputs = x.requires_grad_(), h_0.requires_grad_()
        results = rnn(*inputs, lengths=LENGTHS)
        by_name, of_inputs = gradients(rnn, results, upstream, inputs)
        found.append([*results, *by_name.values(), *of_inputs])
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)
    x_grad = found[1][-2]
    assert (x_grad[padding] == 0).all()
    assert (x_grad[~padding] != 0).all()


def test_lengths_may_be_of_any_whole_type():
    rnn, x = RNN(E, D), torch.randn(B, T, E)
    wanted, _ = rnn(x, lengths=LENGTHS)
    for dtype in (torch.int32, torch.int16, torch.uint8):
        assert torch.equal(rnn(x, lengths=LENGTHS.to(dtype))[0], wanted)


def test_no_device_is_named_inside():
    outputs, last = RNN(E, D, n_layers=L).to("meta")(
        torch.empty(B, T, E, device="meta")
    )
    assert (outputs.shape, last.shape) == ((B, T, D), (L, B, D))
    assert outputs.is_meta
    assert last.is_meta


@pytest.mark.parametrize("lengths", [None, torch.tensor([2, 3, 1])])
@pytest.mark.parametrize("n_layers", [1, 2])
def test_gradients_agree_with_finite_differences(n_layers, lengths):
    rnn = RNN(2, 3, n_layers=n_layers).double()
    names = [name for name, _ in rnn.named_parameters()]

    def run(x, h_0, *parameters):
        values = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(rnn, values, (x, h_0), {"lengths": lengths})

    like = {"dtype": torch.float64, "requires_grad": True}
    x, h_0 = torch.randn(3, 3, 2, **like), torch.randn(n_layers, 3, 3, **like)
    assert torch.autograd.gradcheck(run, (x, h_0, *rnn.parameters()))


def test_a_stack_learns_to_say_what_it_heard_one_step_ago():
    heard = torch.randint(0, 3, (16, 6))
    x, y = nn.functional.one_hot(heard, 3).float(), heard[:, :-1]
    rnn, read = RNN(3, 8, n_layers=2), nn.Linear(8, 3)
    adam = torch.optim.Adam([*rnn.parameters(), *read.parameters()], lr=0.03)
    for _ in range(120):
        logits = read(rnn(x)[0][:, 1:])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
    assert (logits.argmax(dim=-1) == y).float().mean() == 1.0
    assert loss < 0.2


X = torch.zeros(B, T, E)


@pytest.mark.parametrize(
    ("x", "h_0", "message"),
    [
        (X[0], None, r"^x must be \(B, T, E\): expected 3 axes, got 2"),
        (X[..., :1], None, r"^x must be \(B, T, E\): E should be 2, got 1"),
        (X[:, :0], None, r"^x has no time steps: its shape is \(3, 0, 2\)$"),
        (X, X, r"^h_0 must be \(L, B, D\): L should be 2, got 3; B should be 3, got 5"),
        (X, X[0], r"^h_0 must be \(L, B, D\): expected 3 axes, got 2"),
    ],
)
def test_a_stack_names_what_is_wrong_with_its_input(x, h_0, message):
    with pytest.raises(ValueError, match=message):
        RNN(E, D, n_layers=L)(x, h_0)


@pytest.mark.parametrize(
    ("x", "h", "message"),
    [
        (X[0], None, r"^x must be \(B, T, E\): expected 3 axes, got 2"),
        (X[:, :0], None, r"^x has no time steps: its shape is \(3, 0, 2\)$"),
        (X, X, r"^h must be \(B, D\): expected 2 axes, got 3"),
        (X, X[0], r"^h must be \(B, D\): B should be 3, got 5; D should be 4, got 2"),
    ],
)
def test_unroll_names_what_is_wrong_with_its_input(x, h, message):
    with pytest.raises(ValueError, match=message):
        unroll(RNNCell(E, D), x, h)


@pytest.mark.parametrize("name", ["x", "h"])
def test_unroll_names_numbers_of_another_kind_than_the_weights(name):
    given = {"x": X, "h": torch.zeros(B, D)}
    given[name] = given[name].double()
    message = f"^{name} is torch.float64 and the weights are torch.float32: convert"
    with pytest.raises(ValueError, match=message):
        unroll(RNNCell(E, D), *given.values())


@pytest.mark.parametrize("name", ["x", "h_0"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_stack_names_numbers_of_another_kind_than_the_weights(name, device):
    given = {"x": X.to(device), "h_0": torch.zeros(L, B, D, device=device)}
    given[name] = given[name].double()
    message = f"^{name} is torch.float64 and the weights are torch.float32: convert"
    with pytest.raises(ValueError, match=message):
        RNN(E, D, n_layers=L).to(device)(*given.values())


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([1, 2, 6], r"^lengths must lie between 1 and T=5, got \[1, 2, 6\]$"),
        ([0, 2, 5], r"^lengths must lie between 1 and T=5, got \[0, 2, 5\]$"),
        ([2, 5], r"^lengths must be \(B\): B should be 3, got 2"),
        ([1.0, 2.0, 5.0], r"^lengths must be whole numbers, got dtype torch.float32$"),
    ],
)
def test_wrong_lengths_are_shown_in_the_error(lengths, message):
    with pytest.raises(ValueError, match=message):
        RNN(E, D, n_layers=L)(X, lengths=torch.tensor(lengths))


@pytest.mark.parametrize(
    ("sizes", "n_layers", "message"),
    [
        ((2, 4), 0, "^n_layers=0 must be at least 1$"),
        ((0, 4), 1, "^d_in=0 must be at least 1$"),
        ((2, 0), 2, "^d_hidden=0 must be at least 1$"),
    ],
)
def test_a_stack_of_nothing_is_named_in_the_error(sizes, n_layers, message):
    with pytest.raises(ValueError, match=message):
        RNN(*sizes, n_layers=n_layers)

"""The questions of chapter 4; the page checks the answers that code can check."""

from unrolled.book import question

QUESTIONS = (
    question(
        "An RNN layer has inputs of width 10 and states of width 20. How many weights "
        "does it have, with one bias vector?",
        name="weights",
        right="620",
        because="20 × (10 + 20 + 1): a unit reads ten inputs, twenty states, a bias.",
        wrong={
            "600": "These are the two matrices. The twenty biases are missing.",
            "640": "That is torch's count, with two bias vectors where one would do.",
            "It depends on the length": "The same weights serve at every step.",
            "220": "20 × (10 + 1): the state's 20 × 20 matrix is missing.",
        },
    ),
    question(
        "A one-unit cell in silence follows h = tanh(w h). For which of these w does "
        "it have two attractors, so that a disturbed state is restored?",
        name="attractors",
        right="w = 1.5",
        because="Above one the curve crosses the diagonal on both sides of zero.",
        wrong={
            "w = 1": "At one, zero is the only resting point; states creep towards it.",
            "w = 0.99": "Slow fading is still fading.",
            "w = 0": "Then the state forgets everything in a single step.",
        },
    ),
    question(
        "In `yn, hn = nn.RNN(8, 16, num_layers=2)(x)` let `x` have shape (5, 1, 8). "
        "What is `yn[-1]`?",
        name="outputs",
        right="The upper layer's state after the last step",
        because="torch.nn.RNN has no read-out: it returns the top layer's states.",
        wrong={
            "The network's prediction": "It has no V: the head is yours to add.",
            "The states of both layers after the last step": "That is `hn`, which has "
            "one entry per layer.",
            "The lower layer's state after the last step": "That is `hn[0]`.",
        },
    ),
    question(
        "Why did the cell written with `*` raise no error?",
        name="star",
        right="Its sizes were equal, so broadcasting found a meaning for every product",
        because="A (3, 3) matrix times a (3, 1) column by `*` is a (3, 3) matrix. (Sizes of "
        "1 hide it too.)",
        wrong={
            "`*` is a matrix product for tensors": "`*` multiplies entry by entry; the "
            "matrix product is `@`.",
            "tanh accepts only columns": "tanh takes any shape and keeps it.",
            "The state was zero": "A zero does not stop `*` from making it (3, 3).",
        },
    ),
    question(
        "Which of these can an RNN layer compute in one product for all time steps?",
        name="at once",
        right="The input's share, `x W_x + b`",
        because="It needs no state: one product over all steps, as `unroll` does it.",
        wrong={
            "The state's share, `h W_h`": "Each state is needed for the next.",
            "Nothing": "One of its two products needs no state at all.",
            "Everything, on a GPU": "A faster machine takes each step sooner, but "
            "still one after another.",
        },
    ),
)

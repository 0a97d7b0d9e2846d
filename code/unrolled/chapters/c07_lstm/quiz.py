"""The questions of chapter 7; the page checks the answers that code can check."""

from unrolled.book import question

QUESTIONS = (
    question(
        "An LSTM layer has inputs of width 10 and 20 units. How many weights does it "
        "have, with one bias vector?",
        name="weights",
        right="2,480",
        because="4 × 20 × (10 + 20 + 1): three gates and a candidate, each of them a "
        "layer like that of a plain RNN.",
        wrong={
            "620": "That is one of the four layers: the plain RNN of this size.",
            "1,860": "Three gates, but the candidate has weights of its own.",
            "2,560": "That is torch's count, with two bias vectors where one would do.",
        },
    ),
    question(
        "A unit has f = 1, i = 0 and o = 0 at some step. What has happened to its "
        "memory, and what does the rest of the network see?",
        name="hidden",
        right="The memory is unchanged, and the network sees 0",
        because="c is kept whole, nothing is added, and h = 0 × tanh(c).",
        wrong={
            "The memory is erased": "f = 1 keeps everything; f = 0 would erase.",
            "The memory is unchanged, and the network sees tanh(c)": "That would need "
            "an output gate of 1.",
            "Both are zero": "Only h is. The memory is not shown, but it is there.",
        },
    ),
    question(
        "A unit's forget gate stays at 0.9, and its gates do not react to the memory. "
        "How much of a gradient survives 100 steps back?",
        name="left",
        right="About 3 in 100,000",
        because="0.9 to the power of 100 is 2.7e-5: this path can vanish too.",
        wrong={
            "All of it, since the path is additive": "Additive means that no matrix "
            "stands in the way. The factor f is still there at every step.",
            "About a tenth": "That is left after some 22 steps.",
            "Nine tenths": "That is left after one step.",
        },
    ),
    question(
        "A network trained at lag 40 only is right at 40 and wrong at 39 and 41. What "
        "has it learned?",
        name="clock",
        right="Something that comes out right after exactly 40 steps",
        because="A memory would not care when the question comes.",
        wrong={
            "To hold the symbol for 40 steps": "Then it would still have it at 39.",
            "Nothing: it guesses": "Guessing is right one time in eight, at any lag.",
            "To hold the symbol, but not longer than 40": "Then 39 would be right.",
        },
    ),
    question(
        "You load weights from another library. Shapes fit, nothing fails, and the "
        "numbers are wrong. What do you check first?",
        name="order",
        right="The order of the four blocks, and of the pair (h, c)",
        because="Both are conventions, and an exchange changes no shape.",
        wrong={
            "The width of the hidden state": "Then the shapes would not fit.",
            "Whether the forget bias is 1": "It is only where training starts; it is "
            "part of the weights that you loaded.",
            "The random seed": "Given weights and input, an LSTM uses no random numbers.",
        },
    ),
)

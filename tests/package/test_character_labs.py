"""The labs of chapter 6 with Python behind them: what they write and judge."""

from unrolled.widgets import live
from unrolled.widgets.sample_in_the_page import continuation
from unrolled.widgets.tweet_sentiment import verdicts


def test_a_seed_writes_the_same_twice_and_leaves_out_the_unknown():
    settings = {"temperature": 0.7, "n_tokens": 30, "seed": 1}
    one = continuation("In the ", **settings)
    assert len(one) == 30
    assert continuation("In %the @", **settings) == continuation("In the ", **settings)
    assert continuation("In the ", **settings | {"seed": 2}) != one


def test_the_bag_does_not_see_order_and_the_reader_does():
    one, two = verdicts("good not bad at all"), verdicts("bad not good at all")
    assert abs(one[1] - two[1]) < 1e-6
    assert abs(one[0][-1] - two[0][-1]) > 1e-4
    assert verdicts("") == ([], 0.5)


def test_the_live_labs_follow_their_controls():
    box, shown = live("tweet-sentiment").children
    before = shown.value
    box.value = "what a lovely day"
    assert shown.value != before
    *_, button, written = live("sample-in-the-page").children
    before = written.value
    button.click()
    assert written.value != before

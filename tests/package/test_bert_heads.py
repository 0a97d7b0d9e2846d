"""Heads on a BERT: Hugging Face's numbers, and a word guessed from its neighbours."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bert_twins import (
    N_TOKENS,
    PAD,
    agree_on_all,
    bert_like,
    problems,
    same_weights,
    texts,
    their_inputs,
)
from twins import shake
from unrolled.data.masking import mask_tokens
from unrolled.models.bert import BERT, BERTConfig
from unrolled.models.bert_heads import (
    MaskedLM,
    NextSentence,
    PooledClassifier,
    TokenClassifier,
)
from unrolled.models.bert_spans import SpanFinder, best_spans
from unrolled.models.checkpoints import load, save
from unrolled.models.hf_bert import encoder_table, masked_lm_table
from unrolled.models.hf_names import inside, linear, read_weights

B, T, CLASSES = 3, 5, 4
CONFIG = BERTConfig(
    n_tokens=N_TOKENS, d_model=6, n_heads=3, n_layers=2, d_inner=5, n_positions=7
)
MODELS = {"bert": "BertForMaskedLM", "roberta": "RobertaForMaskedLM"}


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=12)
@given(problem=problems())
def test_masked_lm_agrees_with_hugging_face(kind, agree, problem):
    sizes, setup, padded, seed = problem
    torch.manual_seed(seed)
    theirs = bert_like(kind, MODELS[kind], **setup)
    ours = MaskedLM.from_hf(theirs)
    config, n_types = ours.bert.config, setup["type_vocab_size"]
    ids, real, types, positions = texts(*sizes, n_types=n_types, padded=padded)
    named = their_inputs(real, types, positions, config.first_position)
    y, z = ours(ids, real, types, positions), theirs(ids, **named).logits
    table = masked_lm_table(config.n_layers, roberta=kind == "roberta")
    agree_on_all(agree, table, (ours, theirs), (y[real], z[real]))


@pytest.mark.parametrize("kind", MODELS)
def test_masked_lm_goes_there_and_back_again(kind, agree):
    theirs = bert_like(kind, MODELS[kind]).double()
    ours = MaskedLM.from_hf(theirs)
    assert not ours.training
    back = ours.to_hf()
    assert type(back) is type(theirs)
    assert same_weights(back, theirs)
    assert same_weights(MaskedLM.from_hf(back), ours)
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    agree(ours(ids), back(ids).logits)  # float64: to 1e-10
    words = back.get_submodule(kind).embeddings.word_embeddings
    assert back.get_output_embeddings().weight is words.weight


def test_untied_weights_are_refused():
    theirs = bert_like("bert", "BertForMaskedLM", tie_word_embeddings=False)
    with pytest.raises(ValueError, match=r"^tie_word_embeddings=False must be True$"):
        MaskedLM.from_hf(theirs)


POOLED = linear("pooler.W", "bert.pooler.dense")
HEADS = {
    "BertForNextSentencePrediction": (
        NextSentence,
        {**POOLED, **linear("out", "cls.seq_relationship")},
    ),
    "BertForSequenceClassification": (
        lambda bert: PooledClassifier(bert, CLASSES),
        {**POOLED, **linear("out", "classifier")},
    ),
    "BertForTokenClassification": (
        lambda bert: TokenClassifier(bert, CLASSES),
        linear("out", "classifier"),
    ),
    "BertForQuestionAnswering": (SpanFinder, linear("out", "qa_outputs")),
}


def read_answers(result):
    """Return their scores in the shape of ours."""
    if "start_logits" in result:
        return torch.stack([result.start_logits, result.end_logits], dim=-1)
    return result.logits


@pytest.fixture(params=HEADS)
def pair(request):
    """Return one of our heads, their twin, and the table of their names."""
    make, table = HEADS[request.param]
    n_labels = 2 if request.param == "BertForQuestionAnswering" else CLASSES
    theirs = bert_like("bert", request.param, num_labels=n_labels)
    ours = make(BERT.from_hf(theirs)).eval()
    table = {**table, **inside(encoder_table(CONFIG.n_layers), "bert", "bert")}
    return read_weights(ours, table, theirs.state_dict()), theirs, table


def test_every_head_agrees_with_hugging_face(pair, agree):
    ours, theirs, table = pair
    ids, real, types, positions = texts(B, T, n_types=2, padded=True)
    z = read_answers(theirs(ids, **their_inputs(real, types, positions, 0)))
    y = ours(ids, real, types, positions)
    if z.ndim == 3:
        y, z = y[real], z[real]
    agree_on_all(agree, table, (ours, theirs), (y, z))


def test_every_head_drops_where_hugging_face_drops(pair, agree):
    ours, theirs, _ = pair
    theirs.config._attn_implementation = "sdpa"
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    results = []
    for run in (ours.train(), theirs.train()):
        torch.manual_seed(1)
        results.append(run(ids))
    agree(results[0], read_answers(results[1]), model=True)
    assert not torch.allclose(results[0], ours.eval()(ids))


def test_two_heads_on_one_bert_are_what_it_was_trained_with(agree):
    """BERT's two exercises at once, and its work done once for both."""
    theirs = bert_like("bert", "BertForPreTraining")
    weights, bert = theirs.state_dict(), BERT.from_hf(theirs)
    encoder = inside(encoder_table(CONFIG.n_layers), "bert", "bert")
    words, follows = MaskedLM(bert).eval(), NextSentence(bert).eval()
    read_weights(words, masked_lm_table(CONFIG.n_layers, roberta=False), weights)
    table = {**POOLED, **linear("out", "cls.seq_relationship"), **encoder}
    read_weights(follows, table, weights)
    ids = torch.randint(PAD + 1, N_TOKENS, (B, T))
    states, result = bert(ids), theirs(ids)
    agree(words.read(states), result.prediction_logits, model=True)
    agree(follows.read(states), result.seq_relationship_logits, model=True)
    assert words.bert is follows.bert
    chosen = torch.rand(B, T) < 0.5
    agree(words.read(states[chosen]), words(ids)[chosen], model=True)


MAKERS = {
    "words": (MaskedLM, (B, T, N_TOKENS)),
    "follows": (NextSentence, (B, 2)),
    "class": (lambda bert: PooledClassifier(bert, CLASSES), (B, CLASSES)),
    "tags": (lambda bert: TokenClassifier(bert, CLASSES), (B, T, CLASSES)),
    "span": (SpanFinder, (B, T, 2)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_padding_is_read_by_no_head(kind, agree):
    make, shape = MAKERS[kind]
    head = shake(make(BERT(CONFIG))).eval()
    lengths = [5, 2, 1]
    real = torch.arange(T) < torch.tensor(lengths)[:, None]
    ids = torch.randint(N_TOKENS, (B, T))
    y = head(ids, mask=real)
    assert y.shape == shape
    for i, n in enumerate(lengths):
        alone = head(ids[i : i + 1, :n])[0]
        agree(y[i, :n] if len(shape) == 3 else y[i], alone, model=True)


@pytest.mark.parametrize("kind", MAKERS)
def test_heads_name_no_device_and_compile_whole(kind, agree):
    make, shape = MAKERS[kind]
    head = make(BERT(CONFIG)).eval()
    ids = torch.randint(N_TOKENS, (B, T))
    real = torch.ones(B, T, dtype=torch.bool)
    run = torch.compile(head, fullgraph=True, backend="eager")
    agree(run(ids, real), head(ids, real))
    y = head.to("meta")(ids.to("meta"), real.to("meta"))
    assert y.is_meta
    assert y.shape == shape


@pytest.mark.parametrize("kind", MAKERS)
def test_a_saved_head_is_loaded_as_it_was(kind, tmp_path):
    head = shake(MAKERS[kind][0](BERT(CONFIG)))
    save(tmp_path / "head.safetensors", head)
    again = load(tmp_path / "head.safetensors").model
    assert type(again) is type(head)
    assert again.bert.config == CONFIG
    assert same_weights(again, head)


def test_an_untrained_head_holds_all_tokens_for_about_equally_likely():
    head = MaskedLM(BERT(CONFIG)).eval()
    chances = head(torch.randint(N_TOKENS, (B, T))).softmax(dim=-1)
    assert (chances * N_TOKENS - 1).abs().max() < 0.5


def test_it_learns_to_fill_in_the_blanks():
    """Tokens count round from a random start: a neighbour tells the hidden one."""
    generator = torch.Generator().manual_seed(0)
    sizes = {"d_model": 48, "n_heads": 3, "n_layers": 1, "d_inner": 48}
    rates = {"p_drop": 0.0, "p_drop_attention": 0.0}
    bert = BERT(BERTConfig(n_tokens=8, n_positions=8, **sizes, **rates))
    model = MaskedLM(bert)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    special = {"mask_id": 2, "special_ids": (0, 1, 2), "n_tokens": 8}

    def draw(n_rows):
        start = torch.randint(5, (n_rows, 1), generator=generator)
        ids = 3 + (start + torch.arange(8)) % 5
        real = torch.ones_like(ids, dtype=torch.bool)
        return ids, *mask_tokens(ids, real, generator=generator, p=0.3, **special)

    for _ in range(250):
        ids, shown, chosen = draw(32)
        loss = F.cross_entropy(model.read(bert(shown)[chosen]), ids[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    ids, shown, chosen = draw(200)
    hidden = chosen & (shown == 2)
    right = model.eval()(shown).argmax(dim=-1) == ids
    assert hidden.sum() > 100
    assert right[hidden].float().mean() > 0.9  # by chance 0.2


@st.composite
def span_problems(draw):
    sizes = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    return sizes, draw(st.integers(1, 7)), draw(st.integers(0, 99))


@settings(max_examples=50)
@given(problem=span_problems())
def test_the_best_span_is_the_best_of_all(problem):
    (n_rows, n_steps), longest, seed = problem
    torch.manual_seed(seed)
    scores = torch.randn(n_rows, n_steps, 2)
    allowed = torch.rand(n_rows, n_steps) < 0.6
    allowed[:, -1] = True
    found = best_spans(scores, allowed, longest=longest).tolist()
    for row, may, (i, j) in zip(scores, allowed, found, strict=True):
        tried = {
            (a, b): (row[a, 0] + row[b, 1]).item()
            for a in range(n_steps)
            for b in range(a, min(n_steps, a + longest))
            if may[a] and may[b]
        }
        assert tried[i, j] == max(tried.values())


def test_wrong_inputs_are_named():
    bert, scores = BERT(CONFIG), torch.zeros(B, T, 2)
    allowed = torch.ones(B, T, dtype=torch.bool)
    for make in (PooledClassifier, TokenClassifier):
        with pytest.raises(ValueError, match=r"^n_classes=1 must be at least 2$"):
            make(bert, 1)
    with pytest.raises(ValueError, match=r"^scores must be \(B, T, 2\): expected 3 ax"):
        best_spans(scores[0], allowed, longest=1)
    with pytest.raises(ValueError, match=r"^scores must be \(B, T, 2\): 2 should be 2"):
        best_spans(torch.zeros(B, T, 3), allowed, longest=1)
    for wrong in (allowed[:, 1:], allowed.long()):
        with pytest.raises(ValueError, match=r"^allowed is torch.* it must be boolean"):
            best_spans(scores, wrong, longest=1)
    with pytest.raises(ValueError, match=r"^longest=0 must be at least 1$"):
        best_spans(scores, allowed, longest=0)
    nowhere = allowed.clone()
    nowhere[1] = False
    with pytest.raises(
        ValueError, match=r"^allowed has no place for an answer in row.*1"
    ):
        best_spans(scores, nowhere, longest=1)

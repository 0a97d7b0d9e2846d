"""Small files in the very formats of the homes, made for the tests."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import save


def tar_gz(files: Mapping[str, str]) -> bytes:
    """Pack texts as aclImdb is packed: a compressed tar, folders and all."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        folders = {name.rpartition("/")[0] for name in files}
        for folder in sorted(folders):
            member = tarfile.TarInfo(folder)
            member.type = tarfile.DIRTYPE
            tar.addfile(member)
        for name, text in files.items():
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def fra_eng(lines: Sequence[str]) -> bytes:
    """Pack lines as www.manythings.org does: fra.txt beside _about.txt."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_about.txt", "** Info **\n")
        archive.writestr("fra.txt", "".join(f"{line}\n" for line in lines))
    return out.getvalue()


def parquet(rows: Sequence[str]) -> bytes:
    """Write one column called text, as WikiText has it."""
    out = io.BytesIO()
    pq.write_table(pa.table({"text": list(rows)}), out)
    return out.getvalue()


def gz(lines: Sequence[str]) -> bytes:
    """Compress lines as Multi30k does: one file of text, no archive."""
    return gzip.compress("".join(f"{line}\n" for line in lines).encode())


def bert_files() -> dict[str, bytes]:
    """Make a BERT of one layer and width 4, named as its home names it."""
    layer = "bert.encoder.layer.0"
    weights = {
        "bert.embeddings.word_embeddings.weight": torch.randn(5, 4),
        "bert.embeddings.LayerNorm.gamma": torch.ones(4),
        "bert.embeddings.LayerNorm.beta": torch.zeros(4),
        f"{layer}.attention.self.query.weight": torch.randn(4, 4),
        f"{layer}.attention.output.LayerNorm.gamma": torch.full((4,), 2.0),
        f"{layer}.attention.output.LayerNorm.beta": torch.full((4,), 3.0),
        "cls.predictions.bias": torch.randn(5),
    }
    config = {"model_type": "bert", "hidden_size": 4, "num_hidden_layers": 1}
    return {
        "config.json": json.dumps(config).encode(),
        "vocab.txt": "[PAD]\n[UNK]\nthe\n##s\nli\u2028ne\n".encode(),
        "model.safetensors": save(weights, metadata={"format": "pt"}),
    }


def gpt2_files() -> dict[str, bytes]:
    """Make a GPT-2 of one layer and width 4, its causal mask stored as a tensor."""
    weights = {
        "wte.weight": torch.randn(3, 4),
        "wpe.weight": torch.randn(8, 4),
        "h.0.ln_1.bias": torch.zeros(4),
        "h.0.attn.bias": torch.ones(8, 8).tril()[None, None],
        "h.0.attn.c_attn.weight": torch.randn(4, 12),
        "h.0.attn.c_attn.bias": torch.randn(12),
        "ln_f.weight": torch.ones(4),
    }
    config = {"model_type": "gpt2", "n_embd": 4, "n_layer": 1, "n_ctx": 8}
    return {
        "config.json": json.dumps(config).encode(),
        "vocab.json": json.dumps({"Ġt": 2, "!": 0, "t": 1}).encode(),
        "merges.txt": "#version: 0.2\nĠ t\nh e\n# #\n".encode(),
        "model.safetensors": save(weights, metadata={"format": "pt"}),
    }

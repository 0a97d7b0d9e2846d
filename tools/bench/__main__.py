"""Measure all cases, print a table and write ``book/bench.json``."""

import json
import os
import platform
from pathlib import Path

import torch
from tqdm import tqdm

from bench import measure
from bench.batches import batch_cases
from bench.characters import character_cases
from bench.gpt import gpt_cases
from bench.grading import grading_cost, report
from bench.growth import growths
from bench.pairs import pair_cases
from bench.recurrent import recurrent_cases
from bench.tokens import token_cases

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "book" / "bench.json"
GROUPS = {
    "recurrent": recurrent_cases,
    "transformers": gpt_cases,
    "pairs": pair_cases,
    "characters": character_cases,
    "tokens": token_cases,
    "batches": batch_cases,
}


def main() -> None:
    """Compare group by group."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    groups = {}
    for name, cases in GROUPS.items():
        groups[name] = [measure.row(c) for c in tqdm(cases(), desc=name, leave=False)]
        print(f"\n{name}: the share of their time that ours takes")
        for row in groups[name]:
            spread = f"({row['low']:.2f} to {row['high']:.2f})"
            print(f"  {row['share']:6.2f}  {spread}  {row['what']}: {row['against']}")
    grading = grading_cost()
    print(report(grading))
    record = {
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "machine": {"cores": os.cpu_count(), "threads": 1},
        "groups": groups,
        "growth": growths(),
        "grading": grading,
    }
    beside = OUT.with_suffix(".writing")
    beside.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    beside.replace(OUT)
    print(f"\nwritten to {OUT}")


if __name__ == "__main__":
    main()

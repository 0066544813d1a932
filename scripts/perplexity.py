#!/usr/bin/env python3
"""Perplexity of a text beside llama-cpp-python: must agree within 1 %.

Run it with a Python that has the peer: scripts/peer_venv.sh makes one.

    .venv/bin/python scripts/perplexity.py [-m MODEL] [--text FILE] [-t THREADS]

MODEL is a GGUF file or a name in the store (scripts/fetch_model.sh), such as gemma3-270m.

Both score the same token ids (the peer's tokenizer, BOS as the file says) in one context, each
with its own default K/V type. The figure is exp of the mean negative log-likelihood of tokens 2..N.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import llama_cpp
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
STORE = pathlib.Path(os.environ.get("LOCKSTEP_MODELS") or f"{CACHE}/lockstep/models")
TOLERANCE = 0.01


def find_model(name: str) -> str:
    return name if os.path.exists(name) else str(STORE / f"{name}.gguf")


def read_safetensors(path: str, name: str) -> np.ndarray:
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
    entry = header[name]
    assert entry["dtype"] == "F32", entry
    begin, end = entry["data_offsets"]
    return np.memmap(path, np.float32, "r", start + begin, tuple(entry["shape"]))


def mean_nll(logits: np.ndarray, ids: list[int]) -> float:
    """Of tokens 2..N: row i of the logits foretells token i + 1."""
    total = 0.0
    for row, target in zip(logits, ids[1:]):
        row = row.astype(np.float64)
        top = row.max()
        total += top + np.log(np.exp(row - top).sum()) - row[target]
    return total / (len(ids) - 1)


def peer(model: str, text: bytes, threads: int) -> tuple[list[int], float]:
    vocabulary = llama_cpp.Llama(model, vocab_only=True, verbose=False)
    add_bos = vocabulary.metadata.get("tokenizer.ggml.add_bos_token", "false") == "true"
    ids = vocabulary.tokenize(text, add_bos=add_bos, special=False)
    context = llama_cpp.Llama(model, n_ctx=len(ids), n_threads=threads, n_threads_batch=threads,
                              logits_all=True, verbose=False)
    context.eval(ids)
    return ids, mean_nll(context.scores[:len(ids)], ids)


def ours(lockstep: str, model: str, ids: list[int], threads: int) -> float:
    with tempfile.TemporaryDirectory() as work:
        ids_file, out = f"{work}/ids.json", f"{work}/logits.safetensors"
        pathlib.Path(ids_file).write_text(json.dumps([ids]))
        subprocess.run([lockstep, "logits", "-m", model, "--ids", ids_file, "--out", out,
                        "-t", str(threads)], check=True)
        return mean_nll(read_safetensors(out, "logits_0"), ids)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", "--model", default="smollm2-135m-instruct-q4_1")
    parser.add_argument("--text", default=str(ROOT / "tests/data/public_domain_8k.txt"))
    parser.add_argument("-t", "--threads", type=int, default=os.cpu_count())
    parser.add_argument("--lockstep", default=str(ROOT / "build/release/lockstep"))
    options = parser.parse_args()

    text = pathlib.Path(options.text).read_bytes()
    model = find_model(options.model)
    ids, theirs = peer(model, text, options.threads)
    mine = ours(options.lockstep, model, ids, options.threads)
    ratio = np.exp(mine - theirs)
    print(f"tokens {len(ids)}  perplexity: lockstep {np.exp(mine):.4f}  llama.cpp {np.exp(theirs):.4f}"
          f"  ratio {ratio:.5f}")
    return 0 if abs(ratio - 1) <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares `lockstep tokenize` with the `tokenizers` package on random Unicode strings.

    pip install tokenizers==0.23.3
    scripts/compare_tokenizers.py --lockstep build/release/lockstep DIR/tokenizer.json ...

Ids and decoded texts of every string must be equal. Prints the first differences of each tokenizer
and a count; the exit status is 1 if anything differs.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

# Scripts, emoji, marks, controls, spaces, private and unassigned code points.
RANGES = [(0x20, 0x7e)] * 8 + [
    (0x00, 0x1f), (0x7f, 0xff), (0x100, 0x24f), (0x250, 0x2af), (0x300, 0x36f), (0x370, 0x3ff),
    (0x400, 0x52f), (0x590, 0x6ff), (0x900, 0x97f), (0xe00, 0xe7f), (0x1100, 0x11ff),
    (0x1680, 0x1680), (0x1e00, 0x1fff), (0x2000, 0x206f), (0x2070, 0x20cf), (0x2100, 0x218f),
    (0x2460, 0x24ff), (0x2580, 0x25ff), (0x3000, 0x30ff), (0x4e00, 0x9fff), (0xac00, 0xd7a3),
    (0xe000, 0xe0ff), (0xf900, 0xfdff), (0xfe00, 0xfe0f), (0xff00, 0xffef), (0xfff0, 0xffff),
    (0x10000, 0x100ff), (0x1d400, 0x1d7ff), (0x1f1e6, 0x1f1ff), (0x1f300, 0x1faff),
    (0x20000, 0x2a6df), (0x30000, 0x3ffff), (0xe0000, 0xe01ef), (0x10fff0, 0x10ffff)]
GLUE = ["", "", "", " ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "12", "1234567", "\u2581", "\u200d",
        "\ufe0f", "\u0301", "...", "!?", " (", "_", "-", "\u00a0", "\u3000", "\u0000"]


def random_text(rng, added):
    text = ""
    for _ in range(rng.randint(1, 20)):
        low, high = rng.choice(RANGES)
        points = (rng.randint(low, high) for _ in range(rng.randint(1, 5)))
        text += "".join(chr(p) for p in points if not 0xd800 <= p <= 0xdfff)
        text += rng.choice(GLUE)
        if added and rng.random() < 0.08:
            text += rng.choice(["", " ", "\n"]) + rng.choice(added) + rng.choice(["", " ", "x"])
    return text


def texts_for(tokenizer, count, seed):
    rng = random.Random(seed)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    fixed = ["", " ", "\n", "\u0000", "a", "\ufeff", " " * 100, "\n" * 100, "a" * 1000, "\u2581" * 9]
    return fixed + [random_text(rng, added) for _ in range(count - len(fixed))]


def lockstep_ids(program, path, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(texts, file)
        file.flush()
        out = subprocess.run([program, "tokenize", "-m", path, "--file", file.name, "--json"],
                             stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def compare(program, path, count, seed):
    tokenizer = Tokenizer.from_file(path)
    texts = texts_for(tokenizer, count, seed)
    differ = 0
    for text, got in zip(texts, lockstep_ids(program, path, texts), strict=True):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        if ids == got["ids"] and decoded == got["decoded"]:
            continue
        differ += 1
        if differ <= 3:
            print(f"{text!r}\n  expected {ids} {decoded!r}\n  got      {got['ids']} {got['decoded']!r}")
    print(f"{path}: {differ} of {len(texts)} differ")
    return differ


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lockstep", default="build/release/lockstep", help="the program")
    parser.add_argument("-n", type=int, default=10000, help="strings per tokenizer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("tokenizers", nargs="+", type=pathlib.Path, help="tokenizer.json files")
    args = parser.parse_args()
    differ = sum(compare(args.lockstep, str(path), args.n, args.seed) for path in args.tokenizers)
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes what 1,000 blocks of every block type hold by the numpy reference of the `gguf` package.

    pip install gguf==0.19.0 numpy
    scripts/make_block_expectations.py            # rewrites tests/data/block_values.txt

One line a type: its name and the SHA-256 of all values as little-endian f32, NaN as 0x7fc00000. The
blocks are made again in device/quant_blocks_test.cc: first one filled with each byte, then random
bits, every other block of them from 16-bit words that are extreme as f16 scales.
"""
import hashlib
import pathlib

import gguf
import numpy as np

TYPES = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4".split()
BLOCKS = 1000
# Zeros, least and largest denormal, least normal, largest, infinities, NaN, one.
WORDS = (0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xffff, 0x3c00)
MASK = (1 << 64) - 1


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


class CounterRng:
    """base/rng.h"""

    def __init__(self, seed):
        self.counter = mix64(seed)

    def next_u32(self):
        self.counter = (self.counter + 0x9E3779B97F4A7C15) & MASK
        return mix64(self.counter) >> 32

    def below(self, bound):
        return self.next_u32() * bound >> 32


def make_blocks(block_bytes):
    rng = CounterRng(block_bytes)
    for i in range(BLOCKS):
        if i < 256:
            yield bytes([i]) * block_bytes
            continue
        words = (WORDS[rng.below(len(WORDS))] if i % 2 else rng.below(1 << 16)
                 for _ in range((block_bytes + 1) // 2))
        yield b"".join(word.to_bytes(2, "little") for word in words)[:block_bytes]


def digest(name):
    dtype = gguf.GGMLQuantizationType[name]
    block_bytes = gguf.GGML_QUANT_SIZES[dtype][1]
    blocks = np.frombuffer(b"".join(make_blocks(block_bytes)), np.uint8).reshape(BLOCKS, block_bytes)
    with np.errstate(all="ignore"):
        values = gguf.quants.dequantize(blocks, dtype).astype("<f4")
    values[np.isnan(values)] = np.array(0x7FC00000, "<u4").view("<f4")
    return hashlib.sha256(values.tobytes()).hexdigest()


if __name__ == "__main__":
    path = pathlib.Path(__file__).resolve().parent.parent / "tests/data/block_values.txt"
    path.write_text("".join(f"{name} {digest(name)}\n" for name in TYPES))

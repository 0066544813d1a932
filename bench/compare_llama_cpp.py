#!/usr/bin/env python3
"""Speed beside llama-cpp-python on one GGUF file: interleaved rounds in one run, medians.

Run by compare_llama_cpp.sh. A round measures, each in a process of its own: the peer without and
with flash attention, then lockstep; the peer is shown at its better one. The peer's figures include
Python's call for each token (near 0.05 ms) and no sampling; lockstep's include its sampler.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def peer(model: str, threads: int, prompt: int, generated: int, flash: bool) -> dict[str, float]:
    """One repetition after one that does not count, as in `lockstep bench`."""
    import llama_cpp

    context = llama_cpp.Llama(model, n_ctx=prompt + generated, n_threads=threads,
                              n_threads_batch=threads, n_batch=512, n_ubatch=512,
                              flash_attn=flash, verbose=False)
    ids = [(i * 7919 + 101) % context.n_vocab() for i in range(prompt)]
    for _ in range(2):
        context.reset()
        start = time.perf_counter()
        context.eval(ids)
        middle = time.perf_counter()
        for i in range(generated):
            context.eval([ids[i % prompt]])
        end = time.perf_counter()
    return {"prompt": prompt / (middle - start), "generation": generated / (end - middle)}


def run_json(*command: object) -> dict:
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def measure(options: argparse.Namespace, threads: int) -> dict:
    """Medians over the rounds: {"ours" | "plain" | "flash": {"prompt", "generation"}, "peak"}."""
    seen = {name: {"prompt": [], "generation": []} for name in ("ours", "plain", "flash")}
    peak = 0
    for _ in range(options.rounds):
        for name, flash in (("plain", 0), ("flash", 1)):
            said = run_json(sys.executable, __file__, options.model, "--peer", threads, flash,
                            "-p", options.prompt, "-n", options.generated)
            for kind, rates in seen[name].items():
                rates.append(said[kind])
        said = run_json(options.lockstep, "bench", "-m", options.model, "-t", threads, "-r", 1,
                        "-p", options.prompt, "-n", options.generated, "-o", "json")
        for kind, rates in seen["ours"].items():
            rates.append(said[f"{kind}_tokens_per_second"]["median"])
        peak = max(peak, said["peak_memory_bytes"])
    medians = {name: {kind: statistics.median(rates) for kind, rates in kinds.items()}
               for name, kinds in seen.items()}
    return medians | {"peak": peak}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", help="a .gguf file")
    parser.add_argument("--lockstep", default="build/release/lockstep")
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--generated", type=int, default=128)
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("-t", "--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--peer", type=int, nargs=2, metavar=("THREADS", "FLASH"),
                        help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        threads, flash = options.peer
        print(json.dumps(peer(options.model, threads, options.prompt, options.generated, bool(flash))))
        return

    size = os.path.getsize(options.model)
    print(f"{os.path.basename(options.model)}, {size / 1e6:.1f} MB; tokens/s, medians of "
          f"{options.rounds} interleaved rounds")
    print(f"{'':24}{'lockstep':>10}{'llama.cpp':>11}{'(flash)':>9}{'ratio':>8}")
    for threads in options.threads:
        seen = measure(options, threads)
        for kind, tokens in (("prompt", options.prompt), ("generation", options.generated)):
            best = max(("plain", "flash"), key=lambda name: seen[name][kind])
            ours, theirs = seen["ours"][kind], seen[best][kind]
            label = f"{kind} {tokens}, {threads} thread{'s' * (threads > 1)}"
            print(f"{label:24}{ours:10.1f}{theirs:11.1f}{'on' if best == 'flash' else 'off':>9}"
                  f"{ours / theirs:8.2f}", flush=True)
        print(f"{'peak memory':24}{seen['peak'] / 1e6:10.1f} MB, file + {(seen['peak'] - size) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

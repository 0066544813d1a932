#!/usr/bin/env python3
"""Prompt and generation speed beside llama-cpp-python, in interleaved rounds of one run.

Run it by bench/compare_llama_cpp.sh, which finds a Python that has the peer.

Every round starts each contender once, in a process of its own that warms up before it counts, so
a machine that slows down slows all of them. The figures are medians over the rounds; the peer's is
the better of flash attention on and off, chosen for each figure. Peak memory is VmHWM of the
process; the peer's has a Python interpreter in it.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
STORE = pathlib.Path(os.environ.get("LOCKSTEP_MODELS") or f"{CACHE}/lockstep/models")
FIGURES = ["prompt", "generation", "peak_mb"]


def run_peer(options: argparse.Namespace) -> dict:
    """In a process of its own: one contender's figures, tokens per second."""
    import llama_cpp  # here, because only this process has a use for it

    threads = options.threads[0]
    llama = llama_cpp.Llama(options.model, n_ctx=options.prompt + options.generation, n_batch=512,
                            n_ubatch=512, n_threads=threads, n_threads_batch=threads,
                            flash_attn=options.peer == "flash", verbose=False)
    ids = [(i * 7919 + 101) % llama.n_vocab() for i in range(options.prompt)]

    def timed(count: int, work) -> float:
        start = time.perf_counter()
        work()
        return count / (time.perf_counter() - start)

    def generate():
        for i in range(options.generation):
            llama.eval([ids[i % len(ids)]])

    for _ in range(2):  # the first pass is the warm-up
        llama.reset()
        prompt = timed(options.prompt, lambda: llama.eval(ids))
        generation = timed(options.generation, generate)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"prompt": prompt, "generation": generation, "peak_mb": peak_mb}


def measure_peer(options: argparse.Namespace, threads: int, attention: str) -> dict:
    command = [sys.executable, __file__, "--peer", attention, "-m", options.model, "-t", str(threads),
               "-p", str(options.prompt), "-n", str(options.generation)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure_ours(options: argparse.Namespace, threads: int) -> dict:
    command = [options.lockstep, "bench", "-m", options.model, "-p", str(options.prompt),
               "-n", str(options.generation), "-t", str(threads), "-r", "1", "-o", "json"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {"prompt": result["prompt_tokens_per_second"]["median"],
            "generation": result["generation_tokens_per_second"]["median"],
            "peak_mb": result["peak_memory_bytes"] / 1e6}


def median_of(rounds: list[dict], figure: str) -> float:
    return statistics.median(one[figure] for one in rounds)


def compare(options: argparse.Namespace, threads: int) -> None:
    contenders = {
        "lockstep": lambda: measure_ours(options, threads),
        "plain": lambda: measure_peer(options, threads, "plain"),
        "flash": lambda: measure_peer(options, threads, "flash"),
    }
    rounds = {name: [] for name in contenders}
    for _ in range(options.rounds):
        for name, measure in contenders.items():
            rounds[name].append(measure())
    for figure, label in zip(FIGURES, [f"prompt {options.prompt}, tokens/s",
                                       f"generation {options.generation}, tokens/s",
                                       "peak memory, MB"]):
        ours, *peers = [median_of(rounds[name], figure) for name in rounds]
        best = min(peers) if figure == "peak_mb" else max(peers)
        values = [one[figure] for one in rounds["lockstep"]]
        print(f"| {threads} | {label} | {ours:.1f} | {min(values):.1f} to {max(values):.1f} "
              f"| {best:.1f} | {ours / best:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", default=str(STORE / "smollm2-135m-instruct-q4_1.gguf"))
    parser.add_argument("-p", "--prompt", type=int, default=512)
    parser.add_argument("-n", "--generation", type=int, default=128)
    parser.add_argument("-t", "--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--lockstep", default=str(ROOT / "build/release/lockstep"))
    parser.add_argument("--peer", choices=["plain", "flash"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        print(json.dumps(run_peer(options)))
        return
    model = pathlib.Path(options.model)
    print(f"{model.name}, {model.stat().st_size / 1e6:.1f} MB: medians of {options.rounds} "
          "interleaved rounds\n")
    print("| threads | figure | lockstep | its range | llama.cpp | ratio |")
    print("|--:|--|--:|--:|--:|--:|")
    for threads in options.threads:
        compare(options, threads)


if __name__ == "__main__":
    main()

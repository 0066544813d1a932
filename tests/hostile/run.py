#!/usr/bin/env python3
"""Gives every hostile checkpoint of cases.py to every command that reads one.

    tests/hostile/run.py PROGRAM             # each checkpoint to the commands that must refuse it
    tests/hostile/run.py PROGRAM --every     # to every command
    tests/hostile/run.py PROGRAM NAME_PART   # those whose name has this part, to every command

A refusal is exit status 1 and an error of one line, that shows no address. No case may end
by a signal, hang, take 5 s of processor time or 1 GiB of memory. Prints what failed and the worst
seconds and MiB; exit status 1 if anything failed.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import cases

CPU_SECONDS, MEMORY_BYTES, HANG_SECONDS = 5, 1 << 30, 60
LOADED = re.compile(rb"model \| profile ")
ADDRESS = re.compile(rb"0x[0-9a-f]{6,}")

# What each command needs of a checkpoint.
COMMANDS = {
    "inspect": (["inspect", "{model}", "--digest"], {cases.ALL}),
    "tokenize": (["tokenize", "-m", "{model}", "-p", "the hi", "--json"], {cases.TEXT}),
    "logits": (["logits", "-m", "{model}", "--ids", "{ids}", "--out", "{out}"],
               {cases.ALL, cases.WEIGHTS}),
    "run": (["run", "-m", "{model}", "-p", "hi", "-n", "2", "--ignore-eos"],
            {cases.ALL, cases.WEIGHTS, cases.TEXT, cases.CHAT, "run"}),
}


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Outcome:
    def __init__(self, arguments, home):
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=limits, env={**os.environ, "LOCKSTEP_MODELS": home})
        deadline = time.monotonic() + HANG_SECONDS
        try:
            self.out, self.err = process.communicate(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            self.out, self.err = process.communicate()
        self.hung = time.monotonic() >= deadline
        self.status = process.returncode

    def fault(self, must_refuse, must_load):
        """What is wrong with it, or None."""
        if self.hung:
            return f"ran for {HANG_SECONDS} s"
        if self.status < 0:
            return f"ended by signal {-self.status}"
        if self.status not in (0, 1):
            return f"exit status {self.status}: {self.err[:200]!r}"
        if self.status == 0:
            return "not refused" if must_refuse else None
        if must_load:
            return f"refused: {self.err[:200]!r}"
        lines = self.err.splitlines()
        if LOADED.match(self.err):
            del lines[0]  # what `run` says of the weights, before it meets the text
        if len(lines) != 1 or not lines[0].startswith(b"error: ") or len(lines[0]) > 2000:
            return f"not one line: {self.err[:300]!r}"
        if ADDRESS.search(self.err):
            return f"shows an address: {self.err!r}"
        return None


def main():
    program = os.path.abspath(sys.argv[1])
    option = sys.argv[2] if len(sys.argv) > 2 else ""
    part = "" if option == "--every" else option
    work = tempfile.mkdtemp(prefix="hostile")
    ids, out = os.path.join(work, "ids.json"), os.path.join(work, "out.safetensors")
    with open(ids, "w") as file:
        file.write("[[1, 2, 3]]")
    model = os.path.join(work, "model")
    ran = failed = 0
    worst_seconds = 0.0
    for name, (who, write) in cases.CASES.items():
        if part not in name:
            continue
        write(model)
        for command, (arguments, needs) in COMMANDS.items():
            if not option and who not in needs and who not in cases.MAY_LOAD:
                continue
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            filled = [a.format(model=model, ids=ids, out=out) for a in arguments]
            outcome = Outcome([program, *filled], work)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            worst_seconds = max(worst_seconds, seconds)
            ran += 1
            fault = outcome.fault(
                who in needs, who == cases.NONE or (who == cases.APART and command == "inspect"))
            if fault is None and after.ru_maxrss * 1024 > MEMORY_BYTES:
                fault = f"took {after.ru_maxrss // 1024} MiB or more"
            if fault is not None:
                failed += 1
                print(f"{name}: {command}: {fault}", flush=True)
        if os.path.isdir(model) and not os.path.islink(model):
            shutil.rmtree(model)
        elif os.path.lexists(model):
            os.remove(model)
    shutil.rmtree(work)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"{len(cases.CASES)} checkpoints, {ran} commands, {failed} faults; "
          f"worst {worst_seconds:.2f} s of processor time, {most} MiB")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""End to end: the program as a person runs it.

cli_test.py LOCKSTEP: runs every case against that binary. Cases that need the default model are skipped when it
is missing, unless LOCKSTEP_REQUIRE_MODELS=1.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

LOCKSTEP = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/release/lockstep"
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens", "llama")
QUESTION = "What is the capital of France?"


def run(*args, **env):
    return subprocess.run([LOCKSTEP, *args], capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, env={**os.environ, **env})


def isas():
    for line in run("--version").stdout.splitlines():
        if line.startswith("cpu"):
            return line.split()[1:]
    raise AssertionError("--version names no instruction sets")


class IdsFile:
    """A file of token ids (any JSON text) that goes away by itself."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.file.write(self.text)
        self.file.flush()
        return self.file.name

    def __exit__(self, *_):
        self.file.close()


class Case(unittest.TestCase):
    def refused(self, result, *words, code=1):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)
        errors = [line for line in result.stderr.splitlines() if "error" in line or code == 2]
        self.assertEqual(len(errors), 1, result.stderr)


class TokenIds(Case):
    """Every bad id is refused at the door, with its place and the allowed range."""

    def run_ids(self, text):
        with IdsFile(text) as path:
            return run("run", "-m", GOLDEN, "--ids", path, "-n", "2", "--json")

    def test_last_id_of_the_vocabulary_is_fine(self):
        result = self.run_ids("[[383]]")
        self.assertEqual(result.returncode, 0, result.stderr)
        reply = json.loads(result.stdout)
        self.assertEqual((reply["prompt_tokens"], reply["text"]), (1, ""))

    def test_ids_outside_the_vocabulary(self):
        for bad in ("-1", "384", str(2**31), str(-2**63)):
            self.refused(self.run_ids(f"[[1, {bad}]]"), "list 0, token 1", bad, "[0, 383]")

    def test_what_is_no_integer(self):
        for bad in (str(2**63), "1.5", '"7"', "true", "null", "[1]"):
            self.refused(self.run_ids(f"[[{bad}]]"), "list 0, token 0")

    def test_empty_prompts_and_wrong_shapes(self):
        for bad in ("[[]]", "[]", "{}", "[1]", "7"):
            self.refused(self.run_ids(bad), "list")
        self.refused(self.run_ids("[[1], [2]]"), "2 lists", "exactly one")
        self.refused(self.run_ids("[[1]"), "error")


class Logits(Case):
    def test_every_list_becomes_a_tensor(self):
        with IdsFile("[[1, 2, 3], [4]]") as ids, tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.safetensors")
            result = run("logits", "-m", GOLDEN, "--ids", ids, "--out", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(out, "rb") as file:
                header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            self.assertEqual(header["logits_0"]["shape"], [3, 384])
            self.assertEqual(header["logits_1"]["shape"], [1, 384])
            self.assertEqual(header["logits_1"]["dtype"], "F32")

    def test_a_failed_run_leaves_no_file(self):
        with IdsFile("[[1, 999]]") as ids, tempfile.TemporaryDirectory() as folder:
            result = run("logits", "-m", GOLDEN, "--ids", ids, "--out", folder + "/out")
            self.refused(result, "999")
            self.assertEqual(os.listdir(folder), [])


class Usage(Case):
    def test_wrong_flags_are_one_line_and_exit_2(self):
        self.refused(run("run", "--nonsense"), "--nonsense", "lockstep run --help", code=2)
        self.refused(run("frobnicate"), "--help", code=2)
        self.refused(run(), "--help", code=2)
        for threads in ("0", "-1", "1000000", "two"):
            self.refused(run("bench", "-t", threads), "--threads", code=2)

    def test_unknown_names_say_what_is_allowed(self):
        self.refused(run("bench", "-m", GOLDEN, "--profile", "fast"), "cpu-bf16-1")
        self.refused(run("bench", "-m", GOLDEN, "--kv-type", "q4"), "f32, f16, bf16")
        self.refused(run("bench", "-m", GOLDEN, "--device", "tpu"), "cpu, reference")
        self.refused(run("bench", "-m", GOLDEN, LOCKSTEP_ISA="mmx"), "scalar")
        self.refused(run("bench", "-m", "no-such-model"), "no-such-model")

    def test_missing_default_model_names_the_cure(self):
        with tempfile.TemporaryDirectory() as empty:
            self.refused(run("run", "-p", "Hi", LOCKSTEP_MODELS=empty), "make model")

    def test_a_prompt_without_a_terminal_is_asked_for(self):
        self.refused(run("run", "-m", GOLDEN), "-p TEXT")

    def test_help_has_an_example(self):
        for command in ("run", "logits", "inspect", "bench"):
            result = run(command, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Example: lockstep " + command, result.stdout)


class Inspect(Case):
    def test_geometry_and_digest(self):
        first = run("inspect", GOLDEN, "--digest").stdout
        self.assertIn("4 query, 2 key/value, of 16", first)
        self.assertRegex(first, r"digest +[0-9a-f]{64}")
        self.assertEqual(first, run("inspect", GOLDEN, "--digest").stdout)


class DefaultModel(Case):
    @classmethod
    def setUpClass(cls):
        if run("inspect").returncode != 0:
            if os.environ.get("LOCKSTEP_REQUIRE_MODELS") == "1":
                raise AssertionError("the default model is missing: make model")
            raise unittest.SkipTest("the default model is missing: make model")

    def ask(self, *args, **env):
        result = run("run", "-p", QUESTION, "--json", *args, **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_capital_of_france_is_paris_on_every_isa_and_thread_count(self):
        expected = self.ask()
        self.assertIn("Paris", expected["text"])
        self.assertEqual(expected["finish_reason"], "stop")
        for isa in isas():
            for threads in ("1", "2"):
                reply = self.ask("-t", threads, LOCKSTEP_ISA=isa)
                self.assertEqual((reply["tokens"], reply["digest"]),
                                 (expected["tokens"], expected["digest"]), (isa, threads))

    def test_a_seed_repeats_a_sampled_reply_and_another_does_not(self):
        args = ("--temp", "1", "-n", "24", "--ignore-eos", "--seed")
        first = self.ask(*args, "7")
        self.assertEqual(self.ask(*args, "7")["tokens"], first["tokens"])
        self.assertNotEqual(self.ask(*args, "8")["tokens"], first["tokens"])

    def test_bench_gives_one_digest_for_all_threads(self):
        digests = set()
        for threads in ("1", "2"):
            result = run("bench", "-p", "64", "-n", "8", "-r", "1", "-t", threads, "-o", "json")
            self.assertEqual(result.returncode, 0, result.stderr)
            digests.add(json.loads(result.stdout)["last_logits_digest"])
        self.assertEqual(len(digests), 1)

    def test_sampling_fields_out_of_range_are_refused_by_name(self):
        for flag, value, word in (("--temp", "nan", "temperature nan"), ("--temp", "-1", "temperature"),
                                  ("--top-p", "0", "top_p"), ("--min-p", "2", "min_p"),
                                  ("--top-k", "-2", "top_k")):
            self.refused(run("run", "-p", QUESTION, flag, value), word)


if __name__ == "__main__":
    unittest.main(verbosity=2)

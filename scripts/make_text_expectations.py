#!/usr/bin/env python3
"""Writes the expectations of src/text's tests from outside implementations.

    pip install tokenizers==0.23.3 jinja2==3.1.6
    scripts/make_text_expectations.py            # rewrites tests/data/text

Tokenizers are trained here, small, on this repository's own text; ids and decoded texts are those of
the `tokenizers` package. Templates are rendered by jinja2 in the environment that `transformers`
makes for chat templates.
"""
import datetime
import json
import pathlib
import random

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "text"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
# A pattern that no named set has: counted steps, marks and scripts.
OWN = r"[\p{Han}]+|\p{N}{1,2}|[\p{L}\p{M}]+|\s+(?!\S)|\s|[^\s\p{L}\p{M}\p{N}]"
CLOCK = datetime.datetime(2025, 7, 25, 9, 20, 0)  # 1753435200 seconds


def train(vocab_size, alphabet, ignore_merges):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train([str(ROOT / "tests/data/public_domain_8k.txt")],
                    trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def llama3_like():
    tokenizer = train(600, pre_tokenizers.ByteLevel.alphabet(), True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False)
                                  for t in ("<|begin|>", "<|turn|>", "<|turn_end|>")])
    begin = tokenizer.token_to_id("<|begin|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", begin)])
    return tokenizer


def smollm_like():
    """No full alphabet, so some bytes are lost; added tokens with every flag."""
    tokenizer = train(400, [], False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.add_special_tokens([AddedToken("<|turn|>", special=True, normalized=False)])
    tokenizer.add_tokens([
        AddedToken("<left>", lstrip=True, normalized=False),
        AddedToken("<right>", rstrip=True, normalized=False),
        AddedToken("word", single_word=True, normalized=False),
        AddedToken("<tool>", normalized=False)])
    return tokenizer


def own_splits():
    tokenizer = train(500, pre_tokenizers.ByteLevel.alphabet(), False)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(OWN), "isolated"),
        pre_tokenizers.Split("-", "merged_with_previous"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.add_tokens([AddedToken("ti\u1ebfng", normalized=True)])
    return tokenizer


def character_bpe(prefix, pre_tokenizer):
    """SentencePiece's BPE as tokenizer.json has it: marks for spaces, bytes for rare characters."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    steps = [normalizers.Prepend("\u2581")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "\u2581")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    tokenizer.train([str(ROOT / "tests/data/public_domain_8k.txt")],
                    trainers.BpeTrainer(vocab_size=700, special_tokens=["<unk>", "<s>", "</s>"] + [
                        f"<0x{byte:02X}>" for byte in range(256)]))
    tokenizer = as_published(tokenizer)
    if pre_tokenizer is not None:
        tokenizer.normalizer = None
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
        decoders.Strip(" ", 1, 0)])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


def as_published(tokenizer):
    """Without the pre-tokenizer of training. Bytes stay in the vocabulary but are no added tokens, so
    that their text is not matched."""
    source = json.loads(tokenizer.to_str())
    source["pre_tokenizer"] = None
    source["added_tokens"] = [t for t in source["added_tokens"] if not t["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(source))


def llama2_like():
    tokenizer = character_bpe(True, None)
    tokenizer.add_tokens([AddedToken("[INST]", normalized=True), AddedToken("ma", single_word=True),
                          AddedToken("<strip>", lstrip=True, rstrip=True, normalized=False)])
    return tokenizer


def metaspace_first():
    return character_bpe(False, pre_tokenizers.Metaspace(prepend_scheme="first", split=False))


def unigram_like():
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip(),
        normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always"),
        pre_tokenizers.Punctuation("contiguous")])
    tokenizer.train([str(ROOT / "tests/data/public_domain_8k.txt")],
                    trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>",
                                            special_tokens=["<unk>", "<s>", "</s>"]))
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    return tokenizer


def texts():
    fixed = ["", " ", "a", "Hello, world!", "  two  spaces  ", "tabs\tand\r\nlines\n\n\n", "\n \n  \n",
             "don't I'LL we'Ve", "12345 3.14 0x1F \u0661\u0662", "na\u00efve caf\u00e9 cafe\u0301 ti\u1ebfng tie\u0302\u0301ng",
             "\u65e5\u672c\u8a9e\u3068\u6f22\u5b57", "\uc548\ub155 \u0440\u0443\u0441",
             "\U0001f642\u200d\U0001f469\u200d\U0001f467", "\u0000\u0001\u001f", "a" * 200, "ab " * 60,
             " " * 50, "\n" * 50, "x\u00a0y\u2009z\u3000\u180e!", "e\u0301\u0323 \u1e69 \u0344",
             "\U00011de1\U00011de2 \U00031350\ua7da", "<|turn|>user<|turn_end|>x", "a <left> b <right>  c",
             "word words sword a word.", "<tool>x</tool>", "well-known -- dash-", "\ud7ff\ue000\uffff",
             "[INST] ma [INST]ma mama", "x <strip>  y<strip>", "<s>a</s>", "<0x41>", "a\u2581 b",
             "\u017f's 'K 'S", "\u06dd\u0600 \u0e44\u0e17\u0e22 \u0939\u093f\u0928\u094d\u0926\u0940"]
    rng = random.Random(20251201)
    ranges = [(0x20, 0x7e)] * 5 + [(0xa0, 0x24f), (0x300, 0x36f), (0x400, 0x4ff), (0x900, 0x97f),
                                   (0x2000, 0x206f), (0x3000, 0x30ff), (0x4e00, 0x9fff),
                                   (0xac00, 0xd7a3), (0x1f300, 0x1f6ff), (0, 0x1f)]
    for _ in range(60):
        text = ""
        for _ in range(rng.randint(1, 25)):
            low, high = rng.choice(ranges)
            text += "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 4)))
            text += rng.choice(["", " ", "\n", "'s", "12"])
        fixed.append(text)
    return fixed


def tokenizer_expectations():
    for make in (llama3_like, smollm_like, own_splits, llama2_like, metaspace_first, unigram_like):
        tokenizer = make()
        name = make.__name__
        tokenizer.save(str(DATA / f"{name}.json"), pretty=False)
        cases = []
        for text in texts():
            plain = tokenizer.encode(text, add_special_tokens=False).ids
            cases.append({"text": text, "ids": plain,
                          "ids_special": tokenizer.encode(text).ids,
                          "decoded": tokenizer.decode(plain, skip_special_tokens=False)})
        write(f"{name}_expected.json", cases)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = CLOCK.strftime
    return env


VARIABLES = {
    "a": 1, "b": -7, "f": 2.5, "s": "Hello W\u00f6rld", "e": "", "n": None, "t": True, "l": [3, 1, 2],
    "ls": ["b", "A", "c"],
    "d": {"x": 1, "y": "z", "items": 5, "q": [1, {"k": "v \"q\" \\ \n <>&' \u00e9"}]},
    "users": [{"name": "Bob", "age": 5, "r": {"k": 1}}, {"name": "alice", "age": 3, "r": {"k": 0}},
              {"name": "Carl", "age": 5, "r": {"k": 2}}],
    "html": "<a href=\"x\">&'</a>", "multi": "one\ntwo\n\nthree", "ws": "  \t pad \n "}
MESSAGES = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi <|x|>"},
            {"role": "assistant", "content": "yo"}]


def template_expectations():
    env = environment()
    results = []
    for source in (DATA / "template_cases.txt").read_text().rstrip("\n").split("\n=====\n"):
        try:
            text = env.from_string(source).render(
                messages=MESSAGES, tools=None, documents=None, add_generation_prompt=True,
                bos_token="<s>", eos_token="</s>", **VARIABLES)
        except (jinja2.TemplateError, TypeError, ValueError):
            text = None  # an error, whatever its words
        results.append({"template": source, "text": text})
    write("template_expected.json", results, messages=MESSAGES, variables=VARIABLES)


def write(name, cases, **more):
    """One case a line."""
    def line(value):
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))

    head = "".join(f'"{key}":{line(value)},\n' for key, value in more.items())
    body = ",\n".join(line(case) for case in cases)
    (DATA / name).write_text("{" + head + '"cases":[\n' + body + "\n]}\n")


if __name__ == "__main__":
    tokenizer_expectations()
    template_expectations()

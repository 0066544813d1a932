"""Every hostile checkpoint: name -> (what must refuse it, function that writes it to a path).

Who must refuse: ALL commands; those that read WEIGHTS, TEXT (the tokenizer) or CHAT (the template);
NONE: a file that is unusual and good; APART: it is good by itself, yet the weights have more than
the family knows; EITHER: as it comes. Commands that need not refuse must still end well.
"""
import json
import os
import struct

import good
from good import ARRAY, BOOL, F32, I32, STRING, U32, U64, Gguf, array, text

ALL, WEIGHTS, TEXT, CHAT, NONE, APART, EITHER = (
    "all", "weights", "text", "chat", "none", "apart", "either")
MAY_LOAD = {NONE, APART, EITHER}
CASES = {}


def add(name, who, write):
    assert name not in CASES, name
    CASES[name] = (who, write)


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def as_bytes(value):
    return value if isinstance(value, bytes) else json.dumps(value).encode()


# Folders.

def folder(path, **changes):
    """The good folder; a change is a file's contents, a function of its path, or None."""
    os.makedirs(path)
    files = {"config.json": good.config(), "tokenizer.json": good.tokenizer(),
             "tokenizer_config.json": good.tokenizer_config(),
             "model.safetensors": good.safetensors()}
    files.update({name.replace("__", "."): value for name, value in changes.items()})
    for name, value in files.items():
        if callable(value):
            value(os.path.join(path, name))
        elif value is not None:
            put(os.path.join(path, name), as_bytes(value))


def add_folder(name, who, **changes):
    add(name, who, lambda path: folder(path, **changes))


def add_weights(name, data, who=ALL):
    add_folder("safetensors_" + name, who, model__safetensors=data)


def changed(entry, **more):
    header, _ = good.entries()
    header[entry].update(more)
    return good.safetensors(header)


def safetensors_cases():
    norm, embed = "model.norm.weight", "model.embed_tokens.weight"
    header, data = good.entries()
    whole = good.safetensors()
    text_of = json.dumps(header).encode()
    for length in (0, 1, 7, len(text_of) - 1, len(text_of) + 1, len(whole), 1 << 32, 1 << 63,
                   (1 << 64) - 1, (1 << 64) - 8):
        add_weights(f"header_length_{length}", good.safetensors(length=length))
    for at in (0, 1, 7, 8, 9, 50, 8 + len(text_of) - 1, 8 + len(text_of), len(whole) - 1):
        add_weights(f"truncated_at_{at}", whole[:at])
    for name, text_ in {
            "entry_empty": b'{"a":{}}', "not_json": b"{x", "array": b"[]", "null": b"null",
            "unclosed": text_of[:-1] + b" ", "trailing": text_of + b"{}", "nul": text_of + b"\0",
            "bom": b"\xef\xbb\xbf" + text_of, "bad_utf8": text_of.replace(b"norm", b"n\xffrm"),
            "surrogate": text_of.replace(b"norm", b"\\ud800", 1), "deep": b"{\"a\":" + b"[" * 100000,
            "duplicate": text_of[:-1] + b',"model.norm.weight":' +
                         json.dumps(header[norm]).encode() + b"}",
            "extra_key": text_of.replace(b'"dtype"', b'"x":1,"dtype"', 1),
            "metadata_number": b'{"__metadata__":{"a":1},' + text_of[1:],
            "metadata_list": b'{"__metadata__":[],' + text_of[1:],
            "entries_200000": b"{" + b",".join(
                b'"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}' % i
                for i in range(200000)) + b"}"}.items():
        add_weights(name, good.safetensors(text=text_))
    spans = header[norm]["data_offsets"]
    for name, offsets in {
            "reversed": spans[::-1], "past_end": [spans[0], spans[1] + (1 << 40)],
            "overlap": [spans[0] - 4, spans[1] - 4], "gap": [spans[0] + 4, spans[1] + 4],
            "short": [spans[0], spans[1] - 4], "negative": [-4, 124], "one": [0], "three": [0, 1, 2],
            "fraction": [0.0, 128.5], "text": ["0", "128"], "null": None,
            "wrap": [(1 << 64) - 128, 0], "past_64_bits": [0, 1 << 64]}.items():
        add_weights(f"offsets_{name}", changed(norm, data_offsets=offsets))
    for name, shape in {
            "overflow": [1 << 32, 1 << 32, 2], "wraps_to_size": [1 << 63, 2, 32], "negative": [-32],
            "fraction": [32.5], "text": ["32"], "null": None, "dims_1000": [1] * 1000,
            "larger": [64], "bool": [True], "huge": [(1 << 64) - 1]}.items():
        add_weights(f"shape_{name}", changed(norm, shape=shape))
    for dtype in ("F33", "", None, 7, "f32", "F4", "F64"):
        add_weights(f"dtype_{dtype}", changed(norm, dtype=dtype))
    add_weights("bytes_after", whole + b"\0")
    add_weights("name_long", good.safetensors({**header, "n" * 70000: {
        "dtype": "U8", "shape": [0], "data_offsets": [len(data), len(data)]}}))
    # Good files with the wrong tensors.
    without = {k: v for k, v in header.items() if k != norm}
    shifted, at = {}, 0
    for key, value in without.items():
        size = value["data_offsets"][1] - value["data_offsets"][0]
        shifted[key] = {**value, "data_offsets": [at, at + size]}
        at += size
    add_weights("tensor_missing", good.safetensors(shifted, data[:at]), WEIGHTS)
    add_weights("shape_transposed", changed(embed, shape=[good.HIDDEN, good.VOCAB]), WEIGHTS)
    add_weights("shape_flat", changed(embed, shape=[good.HIDDEN * good.VOCAB]), WEIGHTS)
    add_weights("shape_scalar", good.safetensors({**header, norm: {
        "dtype": "F32", "shape": [], "data_offsets": spans}}))
    add_weights("dtype_integer", changed(norm, dtype="I32"), WEIGHTS)
    # Unusual, and good.
    end = len(data)
    add_weights("good_metadata", good.safetensors({"__metadata__": {"format": "pt"}, **header}), NONE)
    add_weights("good_padded_header", good.safetensors(text=text_of + b" " * 64), NONE)
    add_weights("good_empty_tensor", good.safetensors({**header, "extra": {
        "dtype": "F32", "shape": [0, 7], "data_offsets": [end, end]}}), APART)
    add_weights("good_scalar", good.safetensors({**header, "extra": {
        "dtype": "F32", "shape": [], "data_offsets": [end, end + 4]}}, data + b"\0" * 4), APART)
    add_weights("good_unaligned", good.safetensors({**header, "extra": {
        "dtype": "U8", "shape": [3], "data_offsets": [end, end + 3]}}, data + b"abc"), APART)


def index_cases():
    header, data = good.entries()
    names = list(header)

    def sharded(path, weight_map, **shards):
        folder(path, model__safetensors=None, **shards)
        put(os.path.join(path, "model.safetensors.index.json"), as_bytes(weight_map))

    def add_index(name, weight_map, who=ALL, **shards):
        shards.setdefault("a__safetensors", good.safetensors())
        add("index_" + name, who, lambda path: sharded(path, weight_map, **shards))

    full = {n: "a.safetensors" for n in names}
    add_index("good", {"metadata": {"total_size": len(data)}, "weight_map": full}, NONE)
    for name, shard in {
            "outside": "../a.safetensors", "absolute": "/etc/passwd", "missing": "b.safetensors",
            "number": 1, "null": None, "empty": "", "hidden": ".safetensors",
            "nul": "a.safetensors\0.safetensors", "long": "a" * 300 + ".safetensors",
            "folder": "x/a.safetensors", "other_kind": "config.json"}.items():
        add_index("shard_" + name, {"weight_map": {**full, names[0]: shard}})
    add_index("tensor_missing", {"weight_map": {**full, "more": "a.safetensors"}})
    add_index("tensor_unlisted", {"weight_map": {n: "a.safetensors" for n in names[1:]}})
    add_index("tensor_twice", {"weight_map": {**full, names[0]: "b.safetensors"}},
              b__safetensors=good.safetensors())
    add_index("empty", {"weight_map": {}})
    add_index("no_map", {"metadata": {}})
    add_index("list", {"weight_map": [["a", "b"]]})
    add_index("not_json", b"{\"weight_map\":")
    add_index("duplicate", b'{"weight_map":{"a":"a.safetensors","a":"a.safetensors"}}')
    add_index("shards_20000", {"weight_map": {str(i): f"{i}.safetensors" for i in range(20000)}})


def special_file_cases():
    def fifo(path):
        os.mkfifo(path)

    def sparse(size):
        def write(path):
            with open(path, "wb") as file:
                file.truncate(size)
        return write

    makers = {"fifo": fifo, "directory": os.mkdir, "device": lambda p: os.symlink("/dev/zero", p),
              "random_device": lambda p: os.symlink("/dev/urandom", p),
              "null_device": lambda p: os.symlink("/dev/null", p),
              "symlink_loop": lambda p: os.symlink(os.path.basename(p), p),
              "symlink_nowhere": lambda p: os.symlink("nowhere", p),
              "empty": lambda p: put(p, b""), "sparse_huge": sparse(1 << 40)}
    for kind, make in makers.items():
        for file, who in (("config.json", ALL), ("model.safetensors", ALL),
                          ("tokenizer.json", TEXT), ("tokenizer_config.json", CHAT)):
            if file == "tokenizer_config.json" and kind in ("null_device", "symlink_nowhere"):
                continue  # reads as absent
            add_folder(f"{kind}_{file.split('.')[0]}", who, **{file.replace(".", "__"): make})
        if kind != "directory":
            add(f"{kind}_gguf", ALL, make)
    add("directory_without_files", ALL, os.makedirs)
    add("no_such_file", ALL, lambda path: None)
    add_folder("no_config", ALL, config__json=None)
    add_folder("no_weights", ALL, model__safetensors=None)
    add_folder("no_tokenizer", TEXT, tokenizer__json=None)
    add("text_file", ALL, lambda path: put(path, b"hello\n" * 100))
    add("pickle_file", ALL, lambda path: put(path, b"\x80\x02csys\nexit\n."))
    add("zip_file", ALL, lambda path: put(path, b"PK\x03\x04" + b"\0" * 100))
    add_folder("pickle_weights", ALL, model__safetensors=None, pytorch_model__bin=b"\x80\x02c.")


def config_cases():
    base = good.config()

    def add_config(name, value, who=ALL):
        add_folder("config_" + name, who, config__json=value)

    for name, value in {"not_json": b"{", "array": [], "null": b"null", "number": b"7",
                        "deep": b"[" * 200000, "bad_utf8": b'{"model_type":"\xff"}',
                        "nan": json.dumps({**base, "rms_norm_eps": float("nan")}).encode(),
                        "infinity": json.dumps({**base, "rope_theta": float("inf")}).encode(),
                        "duplicate": as_bytes(base)[:-1] + b',"vocab_size":9}',
                        "large": b" " * (64 << 20), "comment": b"/* */" + as_bytes(base),
                        "single_quotes": str(base).encode()}.items():
        add_config(name, value)
    for key in ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings"):
        for value in (0, -1, 1 << 62, 1 << 64, 1.5, "32", [], True):
            add_config(f"{key}_{value}", {**base, key: value})
    for name, more in {
            "heads_not_dividing": {"num_attention_heads": 3, "head_dim": None},
            "kv_heads_not_dividing": {"num_attention_heads": 3, "num_key_value_heads": 2},
            "layers_million": {"num_hidden_layers": 10 ** 6},
            "epsilon_negative": {"rms_norm_eps": -1e-5},
            "theta_zero": {"rope_theta": 0}, "theta_text": {"rope_theta": "x"},
            "rope_type_unknown": {"rope_scaling": {"rope_type": "magic", "factor": 2}},
            "rope_factor_zero": {"rope_scaling": {"rope_type": "linear", "factor": 0}},
            "rope_not_object": {"rope_scaling": 7}, "activation": {"hidden_act": "exec"},
            "model_type_missing": {"model_type": None}, "model_type_unknown": {"model_type": "x" * 5000},
            "eos_huge": {"eos_token_id": 1 << 40}, "eos_text": {"eos_token_id": "2"},
            "eos_many": {"eos_token_id": list(range(100000))},
            "quantization": {"quantization_config": {"quant_method": "gptq", "bits": 4}}}.items():
        add_config(name, {**base, **more})
    for name, more in {
            "vocab_larger": {"vocab_size": good.VOCAB + 1}, "vocab_smaller": {"vocab_size": 8},
            "hidden_other": {"hidden_size": 64}, "layers_more": {"num_hidden_layers": 2},
            "layers_cap": {"num_hidden_layers": 512}}.items():
        add_config(name, {**base, **more}, WEIGHTS)
    add_config("good_unknown_members", {**base, "auto_map": {"AutoConfig": "evil.Config"},
                                        "use_cache": True}, NONE)
    add_folder("generation_config_bad", ALL, generation_config__json=b"{")


def tokenizer_cases():
    def add_tokenizer(name, change, who=TEXT):
        value = change
        if callable(change):
            value = good.tokenizer()
            change(value)
        add_folder("tokenizer_" + name, who, tokenizer__json=value)

    def setter(path, value):
        def change(root):
            *to, last = path.split(".")
            for part in to:
                root = root[part]
            root[last] = value
        return change

    vocab = good.tokenizer()["model"]["vocab"]
    for name, change in {
            "not_json": b"{", "array": [], "null": b"null", "deep": b"[" * 200000,
            "bad_utf8": as_bytes(good.tokenizer()).replace(b"the", b"th\xff"),
            "model_missing": setter("model", None), "model_type": setter("model.type", "Magic"),
            "vocab_list": setter("model.vocab", []), "vocab_empty": setter("model.vocab", {}),
            "vocab_gap": setter("model.vocab", {**vocab, "x1": 5000}),
            "vocab_negative": setter("model.vocab", {**vocab, "the": -1}),
            "vocab_double_id": setter("model.vocab", {**vocab, "the": 3}),
            "vocab_fraction": setter("model.vocab", {**vocab, "the": 1.5}),
            "vocab_huge_id": setter("model.vocab", {**vocab, "the": 1 << 62}),
            "vocab_text_id": setter("model.vocab", {**vocab, "the": "258"}),
            "merge_unknown": setter("model.merges", ["q zz"]),
            "merge_no_space": setter("model.merges", ["hi"]),
            "merge_three": setter("model.merges", ["h i t"]),
            "merge_number": setter("model.merges", [7]),
            "merge_result_unknown": setter("model.merges", ["a b"]),
            "merges_object": setter("model.merges", {}),
            "added_object": setter("added_tokens", {}),
            "added_no_id": setter("added_tokens", [{"content": "x"}]),
            "added_negative": setter("added_tokens", [{"id": -1, "content": "x"}]),
            "added_twice": setter("added_tokens", [{"id": good.VOCAB - 1, "content": "<|turn|>"}] * 2),
            "added_other_text": setter("added_tokens", [{"id": 3, "content": "zz"}]),
            "pre_unknown": setter("pre_tokenizer", {"type": "Magic"}),
            "pre_regex_bad": setter("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(["},
                                                      "behavior": "Isolated", "invert": False}),
            "pre_regex_recursive": setter("pre_tokenizer", {
                "type": "Split", "pattern": {"Regex": "(?R)*x"}, "behavior": "Isolated"}),
            "pre_regex_deep": setter("pre_tokenizer", {
                "type": "Split", "pattern": {"Regex": "(" * 5000 + "a" + ")" * 5000},
                "behavior": "Isolated"}),
            "pre_regex_counts": setter("pre_tokenizer", {
                "type": "Split", "pattern": {"Regex": "((a{1000}){1000}){1000}"},
                "behavior": "Isolated"}),
            "pre_deep": setter("pre_tokenizer", nested("Sequence", "pretokenizers", 60)),
            "pre_many": setter("pre_tokenizer", {"type": "Sequence", "pretokenizers": [
                {"type": "Digits", "individual_digits": True}] * 100000}),
            "normalizer_unknown": setter("normalizer", {"type": "Magic"}),
            "decoder_unknown": setter("decoder", {"type": "Magic"}),
            "post_unknown": setter("post_processor", {"type": "Magic"}),
            "dropout": setter("model.dropout", 0.5)}.items():
        add_tokenizer(name, change)
    add_tokenizer("added_flood", setter("added_tokens", [
        {"id": good.VOCAB + i, "content": f"<x{i}>", "special": True} for i in range(300000)]), EITHER)
    add_tokenizer("added_empty", setter("added_tokens", [{"id": good.VOCAB, "content": ""}]), EITHER)
    add_tokenizer("vocab_past_table", setter("model.vocab", {**vocab, "zz": good.VOCAB}), "run")
    add_tokenizer("good_added_past_table", setter("added_tokens", [
        *good.tokenizer()["added_tokens"],
        {"id": good.VOCAB, "content": "<extra>", "special": True}]), NONE)
    add_tokenizer("good_merge_pairs", setter("model.merges", [["h", "i"], ["t", "h"], ["th", "e"]]), NONE)
    add_folder("tokenizer_config_bad", CHAT, tokenizer_config__json=b"{")


def nested(kind, key, depth):
    inner = {"type": "Digits"}
    for _ in range(depth):
        inner = {"type": kind, key: [inner]}
    return inner


TEMPLATES = {
    "syntax": "{% for %}", "unclosed": "{{ x", "unknown_filter": "{{ 1 | system }}",
    "unknown_test": "{{ 1 is evil }}", "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}", "loop": "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "output": "{% for i in range(100000) %}{% for j in range(100000) %}xxxxxxxx{% endfor %}{% endfor %}",
    "repeat": "{{ 'a' * 1000000000 }}", "repeat_list": "{{ [1] * 1000000000 }}",
    "double": "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}",
    "double_list": "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "laughs": "{% set ns = namespace(l=[1]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "power": "{{ 9 ** 9 ** 9 ** 9 }}", "width": "{{ '%999999999d' % 1 }}",
    "center": "{{ 'x' | center(1000000000) }}", "replace": "{{ ('a' * 99999).replace('a', 'b' * 99999) }}",
    "deep": "{{ " + "(" * 50000 + "1" + ")" * 50000 + " }}", "deep_if": "{% if 1 %}" * 50000,
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "attr": "{{ (messages|attr('__class__'))() }}", "raise": "{{ raise_exception('no\\nmore') }}",
    "large": "x" * (2 << 20), "undefined": "{{ nope.x }}", "divide": "{{ 1 // 0 }}"}


def template_cases():
    for name, source in TEMPLATES.items():
        add_folder("template_" + name, CHAT,
                   tokenizer_config__json={**good.tokenizer_config(), "chat_template": source})
    add_folder("template_number", CHAT,
               tokenizer_config__json={**good.tokenizer_config(), "chat_template": 7})
    add_folder("template_list_without_default", CHAT, tokenizer_config__json={
        **good.tokenizer_config(), "chat_template": [{"name": "rag", "template": "x"}]})
    add_folder("template_file_bad_utf8", CHAT, chat_template__jinja=b"\xff{{ 1 }}")
    add_folder("template_file_fifo", CHAT, chat_template__jinja=os.mkfifo)
    add_folder("good_template_list", NONE, tokenizer_config__json={
        **good.tokenizer_config(), "chat_template": [
            {"name": "tool_use", "template": "{% bad"},
            {"name": "default", "template": good.TEMPLATE}]})
    add_folder("good_template_file", NONE, chat_template__jinja=good.TEMPLATE.encode())


def gguf_cases():
    def add_gguf(name, change, who=ALL):
        def write(path):
            file = Gguf()
            result = change(file)
            put(path, result if isinstance(result, bytes) else file.build())
        add("gguf_" + name, who, write)

    def attribute(name, value):
        return lambda file: setattr(file, name, value)

    def key(name, kind, payload):
        return lambda file: file.keys.__setitem__(name, (kind, payload))

    def u32(name, value):
        return key(name, U32, struct.pack("<I", value))

    def drop(name):
        return lambda file: file.keys.pop(name) and None

    def tensor(name, at, value):
        return lambda file: file.tensors[name].__setitem__(at, value)

    def cut(at):
        return lambda file: file.build()[:at]

    for value in (b"GGUX", b"FUGG", b"\0\0\0\0", b"ggml"):
        add_gguf(f"magic_{value!r}", attribute("magic", value))
    for value in (0, 1, 4, 1 << 31, 0x03000000):
        add_gguf(f"version_{value}", attribute("version", value))
    for value in (1 << 62, 1 << 63, (1 << 64) - 1, 1 << 32, 1 << 20, 20):
        add_gguf(f"keys_{value}", attribute("claimed_keys", value))
        add_gguf(f"tensors_{value}", attribute("claimed_tensors", value))
    add_gguf("keys_fewer", attribute("claimed_keys", 1))
    add_gguf("tensors_none", attribute("claimed_tensors", 0))
    whole = Gguf()
    size = len(whole.build())
    for at in (3, 4, 8, 12, 23, 24, 30, 60, 100, 400, whole.header_bytes - 1, whole.header_bytes,
               whole.header_bytes + 40, size - 1):
        add_gguf(f"truncated_at_{at}", cut(at))
    for value in (0, 3, 7, 24, 1 << 20, 1 << 31):
        add_gguf(f"alignment_{value}", u32("general.alignment", value))
    add_gguf("alignment_2_40", key("general.alignment", U64, struct.pack("<Q", 1 << 40)))
    add_gguf("alignment_text", key("general.alignment", STRING, text("32")))
    add_gguf("alignment_not_kept", u32("general.alignment", 4096))
    a = "general.x"
    add_gguf("type_unknown", key(a, 13, b"\0" * 8))
    add_gguf("type_negative", key(a, 0xFFFFFFFF, b"\0" * 8))
    add_gguf("string_past_end", key(a, STRING, struct.pack("<Q", 1 << 40) + b"x"))
    add_gguf("string_2_63", key(a, STRING, struct.pack("<Q", 1 << 63) + b"x"))
    add_gguf("bool_2", key(a, BOOL, b"\2"))
    add_gguf("array_of_arrays", key(a, ARRAY, array(ARRAY, [array(U32, [])] * 9)))
    add_gguf("array_bomb", key(a, ARRAY, struct.pack("<IQ", ARRAY, 1) * 5000 +
                               struct.pack("<IQ", U32, 0)))
    add_gguf("array_2_62", key(a, ARRAY, struct.pack("<IQ", U32, 1 << 62)))
    add_gguf("array_strings_2_60", key(a, ARRAY, struct.pack("<IQ", STRING, 1 << 60)))
    add_gguf("array_type", key(a, ARRAY, struct.pack("<IQ", 99, 1)))
    add_gguf("key_empty", key("", U32, b"\0" * 4))
    add_gguf("key_long", key("k" * 70000, U32, b"\0" * 4))

    def twice(file):
        file.more_keys = text("llama.block_count") + struct.pack("<II", U32, 1)
        file.claimed_keys = len(file.keys) + 1
    add_gguf("key_twice", twice)

    norm, embed = "output_norm.weight", "token_embd.weight"
    for name, dims in {
            "zero": [0], "negative": [-1], "huge": [1 << 62], "overflow": [1 << 32, 1 << 32],
            "wraps": [1 << 63, 2, 16], "none": [], "five": [2, 2, 2, 2, 2], "larger": [64],
            "count_2_31": [1] * 4096}.items():
        add_gguf("dims_" + name, tensor(norm, 0, dims))
    for kind in (3, 4, 5, 31, 40, 99, 1 << 31, 0xFFFFFFFF):
        add_gguf(f"tensor_type_{kind}", tensor(norm, 1, kind))
    add_gguf("tensor_type_not_blocks", tensor(norm, 1, 12))
    for name, offset in {"past_end": 1 << 40, "unaligned": 4, "overlap": 0, "2_63": 1 << 63,
                         "wraps": (1 << 64) - 32, "gap": 1 << 16}.items():
        add_gguf("offset_" + name, tensor(norm, 3, offset))
    add_gguf("tensor_name_empty", lambda f: f.tensors.__setitem__("", f.tensors.pop(norm)))
    add_gguf("tensor_name_long", lambda f: f.tensors.__setitem__("n" * 5000, f.tensors.pop(norm)))
    add_gguf("bytes_after", attribute("tail", b"\0" * 4096))
    add_gguf("tensor_missing", lambda f: f.tensors.pop(norm) and None, WEIGHTS)
    add_gguf("tensor_transposed", tensor(embed, 0, [good.VOCAB, good.HIDDEN]), WEIGHTS)

    for field, values in {
            "block_count": (0, 10 ** 6, 0xFFFFFFFF), "embedding_length": (0, 1 << 31),
            "feed_forward_length": (0, 0xFFFFFFFF), "context_length": (0,),
            "attention.head_count": (0, 3, 0xFFFFFFFF), "attention.head_count_kv": (0, 3, 1 << 31),
            "rope.dimension_count": (0, 0xFFFFFFFF)}.items():
        for value in values:
            add_gguf(f"{field}_{value}", u32("llama." + field, value))
    add_gguf("block_count_text", key("llama.block_count", STRING, text("1")))
    add_gguf("block_count_array", key("llama.block_count", ARRAY, array(U32, [b"\0" * 4])))
    add_gguf("epsilon_nan", key("llama.attention.layer_norm_rms_epsilon", F32,
                                struct.pack("<f", float("nan"))))
    add_gguf("theta_infinite", key("llama.rope.freq_base", F32, struct.pack("<f", float("inf"))))
    add_gguf("architecture_missing", drop("general.architecture"))
    add_gguf("architecture_unknown", key("general.architecture", STRING, text("evil")))
    add_gguf("architecture_number", u32("general.architecture", 7))
    add_gguf("layers_more", u32("llama.block_count", 2), WEIGHTS)
    add_gguf("split", key("split.count", 2, struct.pack("<H", 2)), WEIGHTS)

    t = "tokenizer.ggml."
    add_gguf("tokens_missing", drop(t + "tokens"), TEXT)
    add_gguf("tokens_numbers", key(t + "tokens", ARRAY, array(U32, [b"\0" * 4] * good.VOCAB)), TEXT)
    add_gguf("tokens_fewer", key(t + "tokens", ARRAY, array(STRING, [
        text(x) for x in good.TOKENS[:-1]])), TEXT)

    def double(file):
        del file.keys[t + "token_type"]  # so that all of them are ordinary ones
        file.keys[t + "tokens"] = (ARRAY, array(STRING, [
            text(x) for x in good.TOKENS[:-1] + ["a"]]))
    add_gguf("tokens_double", double, TEXT)
    add_gguf("token_long", key(t + "tokens", ARRAY, array(STRING, [
        text(x) for x in good.TOKENS[:-1] + ["x" * 200000]])), TEXT)
    add_gguf("token_bad_utf8", key(t + "tokens", ARRAY, array(STRING, [
        text(x) for x in good.TOKENS[:-1]] + [text(b"\xff\xfe")])), TEXT)
    add_gguf("token_types_fewer", key(t + "token_type", ARRAY, array(I32, [b"\1\0\0\0"])), TEXT)
    add_gguf("token_type_unknown", key(t + "token_type", ARRAY, array(I32, [
        b"\x63\0\0\0"] * good.VOCAB)), TEXT)
    add_gguf("merges_unknown", key(t + "merges", ARRAY, array(STRING, [text("q zz")])), TEXT)
    add_gguf("merges_numbers", key(t + "merges", ARRAY, array(U32, [b"\0" * 4])), TEXT)
    add_gguf("merges_missing", drop(t + "merges"), TEXT)
    add_gguf("model_unknown", key(t + "model", STRING, text("magic")), TEXT)
    add_gguf("pre_unknown", key(t + "pre", STRING, text("magic")), TEXT)
    add_gguf("bos_past_end", u32(t + "bos_token_id", 1 << 30), TEXT)
    add_gguf("eos_negative", key(t + "eos_token_id", I32, struct.pack("<i", -1)), TEXT)
    add_gguf("scores_fewer", key(t + "scores", ARRAY, array(F32, [b"\0" * 4])), TEXT)
    for name in ("syntax", "loop", "repeat", "recursion", "classes", "large", "deep"):
        add_gguf("template_" + name, key("tokenizer.chat_template", STRING, text(TEMPLATES[name])),
                 CHAT)
    add_gguf("template_number", u32("tokenizer.chat_template", 7), CHAT)
    add_gguf("template_bad_utf8", key("tokenizer.chat_template", STRING, text(b"\xff")), CHAT)

    add_gguf("good", lambda file: None, NONE)
    add_gguf("good_version_2", attribute("version", 2), NONE)
    add_gguf("good_array_empty", key(a, ARRAY, array(U32, [])), NONE)

    def aligned(file):
        file.alignment = 64
        file.keys["general.alignment"] = (U32, struct.pack("<I", 64))
    add_gguf("good_alignment_64", aligned, NONE)
    add_gguf("good_unknown_keys", key("vendor.note", STRING, text("x" * 100000)), NONE)


for make in (safetensors_cases, index_cases, special_file_cases, config_cases, tokenizer_cases,
             template_cases, gguf_cases):
    make()

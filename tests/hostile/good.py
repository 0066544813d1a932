"""A tiny good checkpoint in both layouts, and writers that can break every part of it."""
import json
import random
import struct

HIDDEN, HEADS, KV_HEADS, HEAD, INTER, LAYERS = 32, 2, 1, 16, 64, 1
SPECIALS = ["<s>", "</s>", "<|turn|>"]
TEMPLATE = "{% for m in messages %}<|turn|>{{ m.role }} {{ m.content }}{% endfor %}"


def byte_tokens():
    """GPT-2's alphabet: every byte as a character that prints."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(b) if b in kept else chr(next(rest)) for b in range(256)]


TOKENS = byte_tokens() + ["hi", "th", "the"] + SPECIALS
MERGES = ["h i", "t h", "th e"]
VOCAB = len(TOKENS)


def config():
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
            "hidden_size": HIDDEN, "intermediate_size": INTER, "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD,
            "vocab_size": VOCAB, "max_position_embeddings": 128, "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0, "tie_word_embeddings": True, "torch_dtype": "float32",
            "bos_token_id": VOCAB - 3, "eos_token_id": VOCAB - 2}


def tokenizer():
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": VOCAB - 3 + i, "content": text, "single_word": False,
                              "lstrip": False, "rstrip": False, "normalized": False,
                              "special": True} for i, text in enumerate(SPECIALS)],
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False,
                              "trim_offsets": True, "use_regex": True},
            "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                        "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None,
                      "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {text: i for i, text in enumerate(TOKENS)}, "merges": MERGES}}


def tokenizer_config():
    return {"bos_token": "<s>", "eos_token": "</s>", "chat_template": TEMPLATE}


def shapes():
    layer = "model.layers.0."
    return {"model.embed_tokens.weight": [VOCAB, HIDDEN], "model.norm.weight": [HIDDEN],
            layer + "input_layernorm.weight": [HIDDEN],
            layer + "post_attention_layernorm.weight": [HIDDEN],
            layer + "self_attn.q_proj.weight": [HEADS * HEAD, HIDDEN],
            layer + "self_attn.k_proj.weight": [KV_HEADS * HEAD, HIDDEN],
            layer + "self_attn.v_proj.weight": [KV_HEADS * HEAD, HIDDEN],
            layer + "self_attn.o_proj.weight": [HIDDEN, HEADS * HEAD],
            layer + "mlp.gate_proj.weight": [INTER, HIDDEN],
            layer + "mlp.up_proj.weight": [INTER, HIDDEN],
            layer + "mlp.down_proj.weight": [HIDDEN, INTER]}


GGUF_NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm",
              "model.layers.0.input_layernorm": "blk.0.attn_norm",
              "model.layers.0.post_attention_layernorm": "blk.0.ffn_norm",
              "model.layers.0.self_attn.q_proj": "blk.0.attn_q",
              "model.layers.0.self_attn.k_proj": "blk.0.attn_k",
              "model.layers.0.self_attn.v_proj": "blk.0.attn_v",
              "model.layers.0.self_attn.o_proj": "blk.0.attn_output",
              "model.layers.0.mlp.gate_proj": "blk.0.ffn_gate",
              "model.layers.0.mlp.up_proj": "blk.0.ffn_up",
              "model.layers.0.mlp.down_proj": "blk.0.ffn_down"}


def numbers(count):
    draws = random.Random(count)
    return struct.pack(f"<{count}f", *(draws.uniform(-0.1, 0.1) for _ in range(count)))


def product(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def entries():
    """A safetensors header and its data."""
    header, data = {}, b""
    for name, shape in shapes().items():
        part = numbers(product(shape))
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    return header, data


def safetensors(header=None, data=None, length=None, text=None):
    good_header, good_data = entries()
    text = json.dumps(header or good_header).encode() if text is None else text
    length = len(text) if length is None else length
    return struct.pack("<Q", length) + text + (good_data if data is None else data)


# GGUF's value types.
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def array(kind, items):
    return struct.pack("<IQ", kind, len(items)) + b"".join(items)


class Gguf:
    """Keys are (type, payload); tensors are [dims innermost first, type, data, offset or None]."""

    def __init__(self):
        u32 = lambda n: (U32, struct.pack("<I", n))
        f32 = lambda x: (F32, struct.pack("<f", x))
        self.magic, self.version, self.alignment = b"GGUF", 3, 32
        self.keys = {
            "general.architecture": (STRING, text("llama")),
            "llama.block_count": u32(LAYERS), "llama.context_length": u32(128),
            "llama.embedding_length": u32(HIDDEN), "llama.feed_forward_length": u32(INTER),
            "llama.attention.head_count": u32(HEADS),
            "llama.attention.head_count_kv": u32(KV_HEADS),
            "llama.attention.layer_norm_rms_epsilon": f32(1e-5),
            "llama.rope.dimension_count": u32(HEAD), "llama.rope.freq_base": f32(10000.0),
            "llama.vocab_size": u32(VOCAB),
            "tokenizer.ggml.model": (STRING, text("gpt2")),
            "tokenizer.ggml.pre": (STRING, text("gpt-2")),
            "tokenizer.ggml.tokens": (ARRAY, array(STRING, [text(t) for t in TOKENS])),
            "tokenizer.ggml.token_type": (ARRAY, array(I32, [
                struct.pack("<i", 3 if t in SPECIALS else 1) for t in TOKENS])),
            "tokenizer.ggml.merges": (ARRAY, array(STRING, [text(m) for m in MERGES])),
            "tokenizer.ggml.bos_token_id": u32(VOCAB - 3),
            "tokenizer.ggml.eos_token_id": u32(VOCAB - 2),
            "tokenizer.chat_template": (STRING, text(TEMPLATE))}
        self.tensors = {
            GGUF_NAMES[name[:-len(".weight")]] + ".weight":
                [shape[::-1], 0, numbers(product(shape)), None]
            for name, shape in shapes().items()}
        self.claimed_keys = self.claimed_tensors = None
        self.more_keys = b""  # after the others, not counted
        self.tail = b""

    def build(self):
        keys = b"".join(text(k) + struct.pack("<I", kind) + payload
                        for k, (kind, payload) in self.keys.items()) + self.more_keys
        infos, data = b"", b""
        for name, (dims, kind, part, offset) in self.tensors.items():
            data += b"\0" * (-len(data) % self.alignment)
            infos += text(name) + struct.pack("<I", len(dims))
            infos += b"".join(struct.pack("<Q", d % (1 << 64)) for d in dims)
            infos += struct.pack("<IQ", kind, len(data) if offset is None else offset)
            data += part
        counts = (len(self.tensors) if self.claimed_tensors is None else self.claimed_tensors,
                  len(self.keys) if self.claimed_keys is None else self.claimed_keys)
        head = self.magic + struct.pack("<I", self.version) + struct.pack("<QQ", *counts)
        head += keys + infos
        self.header_bytes = len(head)
        return head + b"\0" * (-len(head) % self.alignment) + data + self.tail

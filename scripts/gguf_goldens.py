#!/usr/bin/env python3
"""Each golden as a GGUF file, written through the PyPI package gguf: same logits within 2e-4.

    .venv/bin/python scripts/gguf_goldens.py [--lockstep PROGRAM] [--keep FOLDER] [FAMILY ...]

Names of tensors and keys are the package's own, so this holds what src/formats/gguf_config.cc reads
and what src/engine/testing/gguf_form.cc writes against the format. Where llama-cpp-python is
installed its logits of the same files are shown beside. It reads neither mistral's window (so only
shorter prompts are shown) nor gemma2's scale of the scores (left out), and its GELU is a table of
f16 (2e-3 in gemma3).
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np

try:
    import llama_cpp
except ImportError:
    llama_cpp = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
GOLDENS = ROOT / "tests/goldens"
FAMILIES = ["llama", "llama_wide", "mistral", "qwen2", "qwen3", "qwen3_yarn", "gemma2", "gemma3"]
PROMPTS = 5
TOLERANCE = 2e-4
NUMPY_TYPES = {"F32": np.float32, "I64": np.int64, "BF16": np.uint16}


def read_safetensors(path: pathlib.Path) -> dict[str, np.ndarray]:
    raw = path.read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    out = {}
    for name, entry in json.loads(raw[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = np.frombuffer(raw[start + begin:start + end], NUMPY_TYPES[entry["dtype"]])
        if entry["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        out[name] = values.reshape(entry["shape"])
    return out


def interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """q or k with the rows of a head from (first halves, second halves) to pairs side by side."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, 2, size // 2, -1).swapaxes(1, 2).reshape(rows.shape)


def llama3_divisors(rope: dict, head_size: int) -> np.ndarray:
    """By wavelength, as Llama 3.1 defines them."""
    frequency = rope["rope_theta"] ** (-np.arange(0, head_size, 2) / head_size)
    turns = rope["original_max_position_embeddings"] * frequency / (2 * np.pi)
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return (1 / ((1 - kept) / rope["factor"] + kept)).astype(np.float32)


def write_rope(writer: gguf.GGUFWriter, config: dict, head_size: int) -> None:
    rope = config["rope_parameters"]
    rope = rope.get("full_attention", rope)
    writer.add_rope_dimension_count(head_size)
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(rope, head_size))
    elif rope["rope_type"] != "default":
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
        if rope["rope_type"] == "yarn":
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])


def write_attention(writer: gguf.GGUFWriter, config: dict, head_size: int) -> None:
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(head_size)
    writer.add_value_length(head_size)
    if config.get("sliding_window") is not None:
        writer.add_sliding_window(config["sliding_window"])
        if "layer_types" in config:
            writer.add_sliding_window_pattern([t == "sliding_attention" for t in config["layer_types"]])
    if config.get("query_pre_attn_scalar", head_size) != head_size:
        writer.add_attention_scale(config["query_pre_attn_scalar"] ** -0.5)
    if config.get("attn_logit_softcapping") is not None:
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    if config.get("final_logit_softcapping") is not None:
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])


def write_gguf(family: str, path: pathlib.Path) -> None:
    config = json.loads((GOLDENS / family / "config.json").read_text())
    architecture = {"mistral": "llama", "gemma3_text": "gemma3"}.get(config["model_type"],
                                                                     config["model_type"])
    layers = config["num_hidden_layers"]
    heads = config["num_attention_heads"]
    head_size = config.get("head_dim") or config["hidden_size"] // heads

    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    write_attention(writer, config, head_size)
    write_rope(writer, config, head_size)

    code = next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == architecture)
    names = gguf.get_tensor_name_map(code, layers)
    for name, values in read_safetensors(GOLDENS / family / "model.safetensors").items():
        if architecture == "llama" and name.endswith("q_proj.weight"):
            values = interleaved(values, heads)
        if architecture == "llama" and name.endswith("k_proj.weight"):
            values = interleaved(values, config["num_key_value_heads"])
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            values = values + 1
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ours(lockstep: str, model: pathlib.Path, prompts: list[list[int]]) -> list[np.ndarray]:
    ids, out = model.with_suffix(".json"), model.with_suffix(".logits")
    ids.write_text(json.dumps(prompts))
    subprocess.run([lockstep, "logits", "-m", model, "--ids", ids, "--out", out], check=True)
    logits = read_safetensors(out)
    return [logits[f"logits_{i}"] for i in range(len(prompts))]


def peer(model: pathlib.Path, prompts: list[list[int]]) -> list[np.ndarray]:
    context = llama_cpp.Llama(str(model), n_ctx=512, logits_all=True, verbose=False,
                              type_k=gguf.GGMLQuantizationType.F32,
                              type_v=gguf.GGMLQuantizationType.F32)
    out = []
    for prompt in prompts:
        context.reset()
        context.eval(prompt)
        out.append(context.scores[:len(prompt)].copy())
    return out


def worst(logits: list[np.ndarray], golden: dict[str, np.ndarray]) -> float:
    """Over the last rows, as many as the golden keeps."""
    return max(float(np.abs(rows[-len(golden[f"logits_{i}"]):] - golden[f"logits_{i}"]).max())
               for i, rows in enumerate(logits))


def peers_prompts(family: str, prompts: list[list[int]]) -> list[list[int]]:
    if family == "gemma2":
        return []
    return [p for p in prompts if family != "mistral" or len(p) <= 16]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--lockstep", default=str(ROOT / "build/release/lockstep"))
    parser.add_argument("--keep", help="leave the files in this folder")
    options = parser.parse_args()

    failed = 0
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(options.keep or work)
        for family in options.families:
            model = folder / f"{family}.gguf"
            write_gguf(family, model)
            golden = read_safetensors(GOLDENS / family / "golden.safetensors")
            prompts = [golden[f"tokens_{i}"].tolist() for i in range(PROMPTS)]
            differences = {"lockstep": worst(ours(options.lockstep, model, prompts), golden)}
            if llama_cpp and peers_prompts(family, prompts):
                differences["llama.cpp"] = worst(peer(model, peers_prompts(family, prompts)), golden)
            failed += differences["lockstep"] > TOLERANCE
            print(f"{family:<12}", "  ".join(f"{k} {v:.1e}" for k, v in differences.items()), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

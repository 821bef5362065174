#!/usr/bin/env python3
"""Writes a GGUF file of Qwen2.5-1.5B's shape with random weights and no vocabulary, for measuring other programs.

  scripts/random-gguf.py FILE.gguf

The same tensors as `speck measure --shape qwen2.5-1.5b`: Q4_K, with Q6_K for the embedding, which is the output
head too. The numbers are those of the model's published configuration. Blocks have random quants and fixed
scales; they repeat after 4096, which no program can gain from.
"""

import os
import struct
import sys

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, HEAD, VOCAB = 28, 1536, 8960, 12, 2, 128, 151936
# Number in the format, weights of a block, bytes of a block, and where its f16 scales are.
F32 = (0, 1, 4, {})
Q4_K = (12, 256, 144, {0: 0.002 / 32, 2: 0.015 / 32})
Q6_K = (14, 256, 210, {208: 0.002 / 128})


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def key(name, value):
    kind, data = {
        int: lambda: (4, struct.pack("<I", value)),
        float: lambda: (6, struct.pack("<f", value)),
        str: lambda: (8, text(value)),
    }[type(value)]()
    return text(name) + struct.pack("<I", kind) + data


def tensors():
    yield "token_embd.weight", (HIDDEN, VOCAB), Q6_K
    yield "output_norm.weight", (HIDDEN,), F32
    for layer in range(LAYERS):
        for part, dims in [
            ("attn_norm.weight", (HIDDEN,)),
            ("attn_q.weight", (HIDDEN, HEADS * HEAD)),
            ("attn_q.bias", (HEADS * HEAD,)),
            ("attn_k.weight", (HIDDEN, KV_HEADS * HEAD)),
            ("attn_k.bias", (KV_HEADS * HEAD,)),
            ("attn_v.weight", (HIDDEN, KV_HEADS * HEAD)),
            ("attn_v.bias", (KV_HEADS * HEAD,)),
            ("attn_output.weight", (HEADS * HEAD, HIDDEN)),
            ("ffn_norm.weight", (HIDDEN,)),
            ("ffn_gate.weight", (HIDDEN, INNER)),
            ("ffn_up.weight", (HIDDEN, INNER)),
            ("ffn_down.weight", (INNER, HIDDEN)),
        ]:
            yield f"blk.{layer}.{part}", dims, Q4_K if len(dims) == 2 else F32


def n_bytes(dims, kind):
    n_weights = dims[0] * (dims[1] if len(dims) == 2 else 1)
    return n_weights // kind[1] * kind[2]


def blocks(kind, n):
    if kind is F32:
        return struct.pack("<f", 1.0) * n
    data = bytearray(os.urandom(kind[2] * n))
    for start in range(0, len(data), kind[2]):
        for offset, scale in kind[3].items():
            data[start + offset : start + offset + 2] = struct.pack("<e", scale)
    return bytes(data)


def write(out):
    keys = [
        ("general.architecture", "qwen2"),
        ("general.name", "Qwen2.5-1.5B of random weights"),
        ("qwen2.block_count", LAYERS),
        ("qwen2.context_length", 32768),
        ("qwen2.embedding_length", HIDDEN),
        ("qwen2.feed_forward_length", INNER),
        ("qwen2.attention.head_count", HEADS),
        ("qwen2.attention.head_count_kv", KV_HEADS),
        ("qwen2.attention.layer_norm_rms_epsilon", 1e-6),
        ("qwen2.rope.freq_base", 1e6),
        ("qwen2.vocab_size", VOCAB),
        ("tokenizer.ggml.model", "no_vocab"),
    ]
    all_tensors = list(tensors())
    header = b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(keys))
    header += b"".join(key(name, value) for name, value in keys)
    offset = 0
    for name, dims, kind in all_tensors:
        header += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind[0], offset)
        offset += -(-n_bytes(dims, kind) // 32) * 32
    out.write(header + bytes(-len(header) % 32))
    ready = {kind[0]: blocks(kind, 4096) for kind in (F32, Q4_K, Q6_K)}
    for _, dims, kind in all_tensors:
        data, rest = ready[kind[0]], n_bytes(dims, kind)
        padding = -rest % 32
        while rest:
            rest -= out.write(data[:rest])
        out.write(bytes(padding))


if len(sys.argv) != 2:
    sys.exit(__doc__)
with open(sys.argv[1] + ".part", "wb") as file:
    write(file)
os.rename(sys.argv[1] + ".part", sys.argv[1])

"""Every function of attention_test.go."""

import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(__file__))
import compare
from compare import pair


def attend(i, query, key, value, heads=2, **options):
    """multi_head_attention_forward with the inputs' weights, unless options say otherwise."""
    given = {
        "in_proj_weight": i["in_weight"], "in_proj_bias": i["in_bias"], "bias_k": None, "bias_v": None, "add_zero_attn": False,
        "dropout_p": 0.0, "out_proj_weight": i["out_weight"], "out_proj_bias": i["out_bias"],
    } | options
    return pair(*F.multi_head_attention_forward(query, key, value, 6, heads, **given))


def separate(i):
    return {"in_proj_weight": None, "use_separate_proj_weight": True, "q_proj_weight": i["q_weight"], "k_proj_weight": i["k_weight"], "v_proj_weight": i["v_weight"]}


FUNCTIONS = {
    "sdpa": lambda i: F.scaled_dot_product_attention(i["query"].transpose(0, 1), i["key"].transpose(0, 1), i["value"].transpose(0, 1)),
    "sdpa causal": lambda i: F.scaled_dot_product_attention(i["query"].transpose(0, 1), i["key"].transpose(0, 1), i["value"].transpose(0, 1), is_causal=True, scale=0.3),
    "sdpa mask": lambda i: F.scaled_dot_product_attention(i["query"].transpose(0, 1), i["key"].transpose(0, 1), i["value3"].transpose(0, 1), attn_mask=i["mask"]),
    "sdpa dropout": lambda i: F.scaled_dot_product_attention(i["query"], i["key"][:4], i["value"][:4], dropout_p=0.3),
    "mha": lambda i: attend(i, i["query"], i["key"], i["value"]),
    "mha self": lambda i: attend(i, i["key"], i["key"], i["key"]),
    "mha memory": lambda i: attend(i, i["query"], i["key"], i["key"]),
    "mha self without bias": lambda i: attend(i, i["key"], i["key"], i["key"], in_proj_bias=None, out_proj_bias=None),
    "mha memory without bias": lambda i: attend(i, i["query"], i["key"], i["key"], in_proj_bias=None, need_weights=False),
    "mha heads": lambda i: attend(i, i["query"], i["key"], i["value"], heads=3, average_attn_weights=False),
    "mha without bias": lambda i: attend(i, i["query"], i["key"], i["value"], in_proj_bias=None, out_proj_bias=None),
    "mha fast": lambda i: attend(i, i["query"], i["key"], i["value"], need_weights=False),
    "mha fast mask": lambda i: attend(i, i["query"], i["key"], i["value"], need_weights=False, attn_mask=i["scores"]),
    "mha fast mask of heads": lambda i: attend(i, i["query"], i["key"], i["value"], need_weights=False, attn_mask=i["scores3"]),
    "mha fast causal": lambda i: attend(i, i["key"], i["key"], i["key"], need_weights=False, is_causal=True, attn_mask=i["scores"]),
    "mha fast causal padded": lambda i: attend(i, i["query"], i["key"], i["value"], need_weights=False, is_causal=True, attn_mask=i["scores"], key_padding_mask=i["padding"]),
    "mha mask": lambda i: attend(i, i["query"], i["key"], i["value"], attn_mask=i["mask"].logical_and(i["mask"].flip(0))),
    "mha mask of heads": lambda i: attend(i, i["query"], i["key"], i["value"], attn_mask=i["scores3"]),
    "mha causal": lambda i: attend(i, i["query"], i["key"], i["value"], attn_mask=i["scores"], is_causal=True),
    "mha padding": lambda i: attend(i, i["query"], i["key"], i["value"], key_padding_mask=i["padding"]),
    "mha padding scores": lambda i: attend(i, i["query"], i["key"], i["value"], key_padding_mask=i["key_scores"], attn_mask=i["scores"]),
    "mha bias": lambda i: attend(i, i["query"], i["key"], i["value"], bias_k=i["bias_k"], bias_v=i["bias_v"], attn_mask=i["scores"], key_padding_mask=i["padding"]),
    "mha zeros": lambda i: attend(i, i["query"], i["key"], i["value"], add_zero_attn=True, attn_mask=i["scores"], key_padding_mask=i["padding"], need_weights=False),
    "mha separate": lambda i: attend(i, i["query"], i["key"], i["value3"], **separate(i)),
    "mha separate without bias": lambda i: attend(i, i["query"], i["key"], i["value3"], **(separate(i) | {"in_proj_bias": None})),
    "mha static": lambda i: attend(i, i["query"], i["key"], i["value"], static_k=i["static_k"], static_v=i["static_v"]),
    "mha single": lambda i: attend(i, i["query"][:, 0], i["key"][:, 0], i["value"][:, 0], attn_mask=i["scores3"][:2], key_padding_mask=i["padding"][0]),
    "mha single fast": lambda i: attend(i, i["key"][:, 0], i["key"][:, 0], i["key"][:, 0], need_weights=False),
    "mha dropout": lambda i: attend(i, i["query"], i["key"], i["value"], dropout_p=0.4),
    "mha fast dropout": lambda i: attend(i, i["query"], i["key"], i["value"], dropout_p=0.4, need_weights=False),
    "mha evaluation": lambda i: attend(i, i["query"], i["key"], i["value"], dropout_p=0.4, training=False),
}


def main(inputs):
    return compare.results(FUNCTIONS, inputs)

"""Configurations of modules that PyTorch's database lacks, or has fewer than three of."""

import torch
from torch import nn


def x(*shape):
    return torch.randn(shape, requires_grad=True)


def n(high, *shape):
    return torch.randint(0, high, shape)


def row(*args, call=(), **kwargs):
    """The arguments of the constructor, and those of a call."""
    return args, kwargs, call, {}


def manhattan(a, b):
    return (a - b).abs().sum(-1)


SHAPES = {1: (2, 4, 9), 2: (2, 4, 7, 9), 3: (2, 4, 5, 4, 6)}
IMAGE = SHAPES[2]
IN_PLACE = [(nn.ReLU6,), (nn.SiLU,), (nn.Mish,), (nn.SELU,), (nn.Hardswish,), (nn.Hardsigmoid,), (nn.ELU, 0.5), (nn.CELU, 0.5),
            (nn.Hardtanh, -0.5, 0.5), (nn.Threshold, 0.1, 20.0), (nn.LeakyReLU, 0.2), (nn.RReLU,)]


def inputs():
    torch.manual_seed(11)
    return {k: list(v) for k, v in (dense() | spatial() | pools() | lazy() | losses() | composed() | recurrent()).items()}


def dense():
    rows = [row(p, call=(x(3, 4, 5),)) for p in (0.5, 0.3, 0.0)]
    return {
        "Identity": [row(call=(x(*s),)) for s in ((3,), (2, 5), ())],
        "Flatten": [row(call=(x(2, 3, 4),)), row(2, call=(x(2, 3, 4, 5),)), row(1, 2, call=(x(2, 3, 4, 5),))],
        "Unflatten": [row(1, (2, 3), call=(x(2, 6),)), row(-1, (2, -1), call=(x(2, 3, 8),)), row(0, (1, 3), call=(x(3),))],
        "Hardsigmoid": [row(call=(x(*s),)) for s in ((3,), (2, 3, 4), ())],
        "Hardswish": [row(call=(x(*s),)) for s in ((3,), (2, 3, 4), ())],
        "RReLU": [row(call=(x(*IMAGE),)), row(0.1, 0.9, call=(x(3, 7),)), row(lower=0.2, call=(x(5),))],
        "Softmax2d": [row(call=(x(*IMAGE),))],
        "Dropout": rows,
        "AlphaDropout": rows,
        "Dropout1d": rows,
        "Dropout2d": [row(p, call=(x(*IMAGE),)) for p in (0.5, 0.3, 0.0)],
        "Dropout3d": [row(p, call=(x(*SHAPES[3]),)) for p in (0.5, 0.3, 0.0)],
        "FeatureAlphaDropout": [row(p, call=(x(*IMAGE),)) for p in (0.5, 0.3, 0.0)],
        "CosineSimilarity": [row(call=(x(5, 3), x(5, 3))), row(0, call=(x(5), x(5))), row(-1, 1e-2, call=(x(5, 3), x(1, 3)))],
        "PairwiseDistance": [row(call=(x(5, 3), x(5, 3))), row(1.0, 1e-2, True, call=(x(5, 3), x(5, 3))), row(p=3.0, call=(x(3), x(3)))],
        "Embedding": [
            row(10, 3, padding_idx=2, call=(n(10, 4, 3),)),
            row(10, 3, scale_grad_by_freq=True, call=(n(3, 8),)),
            row(10, 3, max_norm=0.5, norm_type=1.0, call=(n(10, 4),)),
        ],
        "EmbeddingBag": [
            row(10, 3, call=(n(10, 2, 3),)),
            row(10, 3, mode="sum", padding_idx=2, call=(n(10, 6), torch.tensor([0, 2, 6]), x(6))),
            row(10, 3, mode="max", call=(n(10, 6), torch.tensor([0, 2, 4]))),
            row(10, 3, scale_grad_by_freq=True, include_last_offset=True, call=(n(10, 6), torch.tensor([0, 2, 6]))),
        ],
    }


def spatial():
    table = {
        "ChannelShuffle": [row(g, call=(x(*IMAGE),)) for g in (1, 2, 4)],
        "PixelShuffle": [row(1, call=(x(*IMAGE),)), row(2, call=(x(*IMAGE),)), row(3, call=(x(9, 2, 2),))],
        "PixelUnshuffle": [row(1, call=(x(*IMAGE),)), row(2, call=(x(1, 3, 4, 6),)), row(3, call=(x(2, 3, 6),))],
        "Upsample": [
            row(size=5, call=(x(2, 3, 4),)),
            row(scale_factor=2.0, mode="bilinear", align_corners=True, call=(x(*IMAGE),)),
            row(scale_factor=(1.5, 2.0), mode="bicubic", call=(x(*IMAGE),)),
            row(scale_factor=0.7, mode="bilinear", recompute_scale_factor=True, call=(x(*IMAGE),)),
        ],
        "UpsamplingNearest2d": [row(5, call=(x(*IMAGE),)), row((4, 9), call=(x(*IMAGE),)), row(scale_factor=2.0, call=(x(*IMAGE),))],
        "UpsamplingBilinear2d": [row(5, call=(x(*IMAGE),)), row((4, 9), call=(x(*IMAGE),)), row(scale_factor=2.0, call=(x(*IMAGE),))],
        "Unfold": [row(3, call=(x(*IMAGE),)), row((2, 3), 2, (1, 0), 2, call=(x(*IMAGE),)), row(2, stride=2, call=(x(3, 4, 6),))],
        "Fold": [
            row((4, 5), 2, call=(x(2, 12, 12),)),
            row((4, 5), (2, 2), padding=1, stride=3, call=(x(3, 8, 4),)),
            row(6, 3, 2, call=(x(1, 9, 4),)),
        ],
    }
    for d, shape in SHAPES.items():
        pads = tuple(1 + i % 2 for i in range(2 * d))
        for kind in ("Zero", "Reflection", "Replication"):
            table[f"{kind}Pad{d}d"] = [row(pads, call=(x(*shape),))]
        table[f"ConstantPad{d}d"] = [row(pads, 2.5, call=(x(*shape),))]
        table[f"ConvTranspose{d}d"] = [
            row(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, call=(x(*shape),)),
            row(4, 3, 2, dilation=2, call=(x(*shape), [s + 2 for s in shape[2:]])),
        ]
        table[f"Conv{d}d"] = [
            row(4, 6, 3, 2, 1, groups=2, bias=False, call=(x(*shape),)),
            row(4, 6, 3, padding="same", padding_mode="circular", dilation=(1,) * d, call=(x(*shape),)),
            row(4, 6, 3, padding=2, padding_mode="reflect", call=(x(*shape),)),
            row(4, 6, 3, padding=1, padding_mode="replicate", call=(x(*shape),)),
        ]
    return table


def pools():
    table = {"AdaptiveMaxPool1d": [row(2, return_indices=True, call=(x(2, 3, 8),))]}
    for d in SHAPES:
        pool = getattr(nn.functional, f"max_pool{d}d")
        rows = []
        for size, options in ((6, {"kernel_size": 2}), (7, {"kernel_size": 3, "stride": 2}), (7, {"kernel_size": 3, "stride": 2, "padding": 1})):
            values, indices = pool(torch.randn((2, 3) + (size,) * d), return_indices=True, **options)
            rows.append(row(**options, call=(values.requires_grad_(), indices)))
        values, indices = pool(torch.randn((2, 3) + (7,) * d), 2, return_indices=True)
        rows.append(row(2, call=(values.requires_grad_(), indices, [2, 3] + [7] * d)))
        table[f"MaxUnpool{d}d"] = rows
    return table


def lazy():
    table = {"LazyLinear": [row(5, call=(x(3, 7),)), row(5, bias=False, call=(x(2, 3, 7),)), row(1, call=(x(7),))]}
    for d, shape in SHAPES.items():
        table[f"LazyConvTranspose{d}d"] = [row(6, 3, stride=2, groups=2, bias=False, call=(x(*shape),))]
        table[f"LazyBatchNorm{d}d"] = [
            row(call=(x(*shape),)),
            row(1e-3, None, call=(x(*shape),)),
            row(affine=False, track_running_stats=False, call=(x(*shape),)),
        ]
        table[f"LazyInstanceNorm{d}d"] = [
            row(call=(x(*shape),)),
            row(1e-3, 0.3, affine=False, call=(x(*shape),)),
            row(affine=False, track_running_stats=False, call=(x(*shape),)),
        ]
    return table


def losses():
    three = lambda: (x(4, 7), x(4, 7), x(4, 7))
    return {
        "TripletMarginLoss": [row(call=three()), row(2.0, 1.0, 1e-3, True, reduction="sum", call=three()), row(reduction="none", call=three())],
        "TripletMarginWithDistanceLoss": [
            row(call=three()),
            row(distance_function=manhattan, margin=0.5, swap=True, call=three()),
            row(reduction="sum", call=three()),
            row(distance_function=manhattan, reduction="none", call=three()),
        ],
        "AdaptiveLogSoftmaxWithLoss": [
            row(16, 20, [5, 10, 15], call=(x(8, 16), n(20, 8))),
            row(16, 20, [4, 10], div_value=2.0, head_bias=True, call=(x(9, 16), n(20, 9))),
            row(16, 20, [10], call=(x(16), torch.tensor(13))),
            row(16, 20, [10], call=(x(3, 16), torch.tensor([3, 4, 12]))),
        ],
        "MultiLabelSoftMarginLoss": [row(weight=torch.rand(10), call=(x(5, 10), torch.rand(5, 10).round()))],
        "BCEWithLogitsLoss": [row(pos_weight=torch.rand(10), call=(x(5, 10), torch.rand(5, 10).round()))],
    }


def composed():
    layer = lambda **options: nn.TransformerDecoderLayer(4, 2, 8, 0.0, **options)
    pair = lambda: (x(5, 2, 4), x(3, 2, 4))
    return {
        "Sequential": [
            row(nn.Linear(7, 5), nn.ReLU(), call=(x(3, 7),)),
            row(nn.Conv2d(4, 3, 2), nn.BatchNorm2d(3), nn.Sequential(nn.GELU(), nn.Dropout(0.3)), call=(x(*IMAGE),)),
            row(nn.Linear(7, 5), nn.ReLU(inplace=True), nn.Linear(5, 2, bias=False), call=(x(7),)),
            row(call=(x(2),)),
            *(row(nn.Linear(7, 5), cls(*args, inplace=True), call=(x(3, 7),)) for cls, *args in IN_PLACE),
        ],
        "TransformerDecoder": [
            row(layer(), 2, call=pair()),
            row(layer(norm_first=True, activation="gelu"), 1, nn.LayerNorm(4), call=pair()),
            row(layer(bias=False), 3, call=(*pair(), nn.Transformer.generate_square_subsequent_mask(5))),
        ],
        "MultiheadAttention": [
            row(6, 2, 0.3, call=(x(5, 2, 6), x(4, 2, 6), x(4, 2, 6))),
            row(6, 3, kdim=4, vdim=5, call=(x(5, 2, 6), x(4, 2, 4), x(4, 2, 5))),
        ],
        "TransformerEncoderLayer": [row(4, 2, 8, call=(x(5, 2, 4),))],
        "TransformerDecoderLayer": [row(4, 2, 8, 0.3, call=pair())],
    }


def recurrent():
    table = {
        "GRUCell": [row(3, 4, bias=False, call=(x(2, 3),)), row(3, 4, call=(x(2, 3), x(2, 4)))],
        "LSTMCell": [row(3, 4, bias=False, call=(x(2, 3),)), row(3, 4, call=(x(2, 3), (x(2, 4), x(2, 4))))],
        "RNNCell": [row(3, 4, bias=False, call=(x(2, 3),))],
    }
    for kind in ("RNN", "GRU", "LSTM"):
        table[kind] = [row(input_size=3, hidden_size=4, num_layers=3, dropout=0.4, call=(x(5, 2, 3),))]
        for options in ({}, {"bidirectional": True}, {"num_layers": 2, "batch_first": True}):
            packed = nn.utils.rnn.pack_sequence([torch.randn(k, 3) for k in (2, 4, 1)], enforce_sorted=False)
            table[kind].append(row(input_size=3, hidden_size=4, **options, call=(packed,)))
        state = (x(1, 3, 4), x(1, 3, 4)) if kind == "LSTM" else x(1, 3, 4)
        table[kind].append(row(input_size=3, hidden_size=4, call=(packed, state)))
    return table

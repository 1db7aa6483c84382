"""What Python says of every wrong call of complaint_test.go, in UTF-8: the exception's
class, a colon, its text."""

import warnings

import torch
from torch.nn import functional as F

V, M, I, Q, L = torch.ones(7), torch.ones(4, 7), torch.ones(2, 4, 6, 6), torch.ones(4, 2, 6), torch.zeros(4, dtype=torch.int64)
MATRIX = torch.ones(5, 7)
ONE, S, X5 = torch.ones(1), torch.ones(2, 4, 6), torch.ones(2, 2, 4, 4, 4)


def attend(query=Q, key=Q, value=Q, embed=6, heads=2, **options):
    given = {
        "in_proj_weight": torch.ones(18, 6), "in_proj_bias": None, "bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0,
        "out_proj_weight": torch.ones(6, 6), "out_proj_bias": None,
    } | options
    F.multi_head_attention_forward(query, key, value, embed, heads, **given)


def separate(**options):
    given = {"q_proj_weight": torch.ones(6, 6), "k_proj_weight": torch.ones(6, 6), "v_proj_weight": torch.ones(6, 6)}
    attend(**({"in_proj_weight": None, "use_separate_proj_weight": True} | given | options))


def bag(input=L, weight=MATRIX, **options):
    F.embedding_bag(input, weight, **options)


CALLS = {
    "glu": lambda: F.glu(torch.tensor(1.0)),
    "hardtanh": lambda: F.hardtanh(V, 1.0, -1.0),
    "dropout": lambda: F.dropout(V, -1.0),
    "alpha_dropout": lambda: F.alpha_dropout(V, 1.5),
    "dropout1d": lambda: F.dropout1d(V, 2.0),
    "dropout1d dims": lambda: F.dropout1d(I, 0.5),
    "dropout2d": lambda: F.dropout2d(I, 1.0000001),
    "dropout3d": lambda: F.dropout3d(I, 1e16),
    "feature_alpha_dropout": lambda: F.feature_alpha_dropout(I, -1e-5),
    "embedding": lambda: F.embedding(L, MATRIX, padding_idx=5),
    "embedding below": lambda: F.embedding(L, MATRIX, padding_idx=-6),
    "embedding_bag weights": lambda: bag(offsets=L, per_sample_weights=torch.ones(3)),
    "embedding_bag weight": lambda: bag(weight=torch.ones(3)),
    "embedding_bag offsets": lambda: bag(L.view(2, 2), offsets=L),
    "embedding_bag no offsets": lambda: bag(),
    "embedding_bag offsets dims": lambda: bag(offsets=L.view(2, 2)),
    "embedding_bag input": lambda: bag(L.view(2, 2, 1)),
    "embedding_bag mode": lambda: bag(offsets=L, mode="median"),
    "embedding_bag max scale": lambda: bag(offsets=L, mode="max", scale_grad_by_freq=True),
    "embedding_bag max sparse": lambda: bag(offsets=L, mode="max", sparse=True),
    "embedding_bag mean weights": lambda: bag(offsets=L, per_sample_weights=torch.ones(4)),
    "embedding_bag first offset": lambda: bag(offsets=L + 1),
    "batch_norm": lambda: F.batch_norm(torch.ones(1, 7), None, None, training=True),
    "batch_norm 4d": lambda: F.batch_norm(torch.ones(1, 3, 1, 1), None, None, training=True),
    "instance_norm": lambda: F.instance_norm(torch.ones(2, 3, 1)),
    "group_norm": lambda: F.group_norm(V, 1),
    "group_norm alone": lambda: F.group_norm(torch.ones(1, 2, 1), 2),
    "local_response_norm": lambda: F.local_response_norm(M, 2),
    "adaptive_avg_pool2d": lambda: F.adaptive_avg_pool2d(M, (2, 2)),
    "adaptive_avg_pool3d": lambda: F.adaptive_avg_pool3d(S, (2, 2, 2)),
    "adaptive_max_pool2d": lambda: F.adaptive_max_pool2d(V, (2, 2)),
    "adaptive_max_pool3d": lambda: F.adaptive_max_pool3d(V, (2, 2, 2)),
    "fractional_max_pool2d": lambda: F.fractional_max_pool2d(I, 2),
    "fractional_max_pool3d": lambda: F.fractional_max_pool3d(X5, 2),
    "max_unpool1d": lambda: F.max_unpool1d(S, S.long(), 2, output_size=[1, 2, 3, 4]),
    "max_unpool2d": lambda: F.max_unpool2d(I, I.long(), 2, output_size=[12, 14]),
    "max_unpool3d": lambda: F.max_unpool3d(X5, X5.long(), 2, output_size=[2, 2, 8, 8, 6]),
    "interpolate nothing": lambda: F.interpolate(I),
    "interpolate both": lambda: F.interpolate(I, size=2, scale_factor=2),
    "interpolate corners": lambda: F.interpolate(I, size=2, align_corners=False),
    "interpolate size": lambda: F.interpolate(I, size=[2, 2, 2]),
    "interpolate factor": lambda: F.interpolate(I, scale_factor=[2.0]),
    "interpolate recompute": lambda: F.interpolate(I, size=2, recompute_scale_factor=True),
    "interpolate antialias": lambda: F.interpolate(I, size=2, antialias=True),
    "interpolate 3d bilinear": lambda: F.interpolate(S, size=2, mode="bilinear"),
    "interpolate 3d trilinear": lambda: F.interpolate(S, size=2, mode="trilinear"),
    "interpolate 4d linear": lambda: F.interpolate(I, size=2, mode="linear"),
    "interpolate 4d trilinear": lambda: F.interpolate(I, size=2, mode="trilinear"),
    "interpolate 5d linear": lambda: F.interpolate(X5, size=2, mode="linear"),
    "interpolate 5d bilinear": lambda: F.interpolate(X5, size=2, mode="bilinear"),
    "interpolate 3d bicubic": lambda: F.interpolate(S, size=2, mode="bicubic"),
    "interpolate 2d": lambda: F.interpolate(M, size=2),
    "interpolate mode": lambda: F.interpolate(I, size=2, mode="cubist"),
    "grid_sample mode": lambda: F.grid_sample(I, I, mode="cubist"),
    "grid_sample padding": lambda: F.grid_sample(I, I, padding_mode="nothing"),
    "affine_grid type": lambda: F.affine_grid(L, [1, 1, 2, 2]),
    "affine_grid 2d": lambda: F.affine_grid(M, [1, 1, 2, 2]),
    "affine_grid 3d": lambda: F.affine_grid(torch.ones(1, 2, 3), [1, 1, 2, 2, 2]),
    "affine_grid dims": lambda: F.affine_grid(torch.ones(1, 2, 3), [1, 1, 2]),
    "affine_grid size": lambda: F.affine_grid(torch.ones(1, 2, 3), [1, 1, 0, 2]),
    "mse_loss weight": lambda: F.mse_loss(M, M, weight=V),
    "l1_loss weight": lambda: F.l1_loss(M, M, weight=V),
    "huber_loss weight": lambda: F.huber_loss(M, M, weight=V),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(M, V),
    "binary_cross_entropy_with_logits": lambda: F.binary_cross_entropy_with_logits(M, V),
    "margin_ranking_loss": lambda: F.margin_ranking_loss(M, V, ONE),
    "multi_margin_loss p": lambda: F.multi_margin_loss(M, L, p=3),
    "multi_margin_loss weight": lambda: F.multi_margin_loss(M, L, weight=M),
    "triplet_margin_loss": lambda: F.triplet_margin_loss(M, M, M, margin=-1.0),
    "triplet_margin_with_distance_loss": lambda: F.triplet_margin_with_distance_loss(M, M, M, margin=-0.5),
    "triplet_margin_with_distance_loss dims": lambda: F.triplet_margin_with_distance_loss(M, V, I),
    "gaussian_nll_loss negative": lambda: F.gaussian_nll_loss(M, M, -M),
    "gaussian_nll_loss size": lambda: F.gaussian_nll_loss(M, M, torch.ones(4, 3)),
    "mha query": lambda: attend(V),
    "mha key": lambda: attend(key=M),
    "mha padding dims": lambda: attend(key_padding_mask=V),
    "mha mask dims": lambda: attend(attn_mask=V),
    "mha single key": lambda: attend(M),
    "mha single padding dims": lambda: attend(Q[:, 0], Q[:, 0], Q[:, 0], key_padding_mask=M),
    "mha single mask dims": lambda: attend(Q[:, 0], Q[:, 0], Q[:, 0], attn_mask=V),
    "mha single mask": lambda: attend(Q[:, 0], Q[:, 0], Q[:, 0], attn_mask=torch.ones(1, 4, 4)),
    "mha padding type": lambda: attend(key_padding_mask=torch.ones(2, 4).long()),
    "mha mask type": lambda: attend(attn_mask=torch.ones(4, 4).long()),
    "mha causal": lambda: attend(is_causal=True),
    "mha embed": lambda: attend(embed=8),
    "mha heads": lambda: attend(heads=4),
    "mha key and value": lambda: attend(value=torch.ones(4, 2, 3)),
    "mha separate key and value": lambda: separate(value=torch.ones(3, 2, 6)),
    "mha weight": lambda: attend(in_proj_weight=None),
    "mha q weight": lambda: separate(q_proj_weight=None),
    "mha k weight": lambda: separate(k_proj_weight=None),
    "mha v weight": lambda: separate(v_proj_weight=None),
    "mha q weight shape": lambda: separate(q_proj_weight=M),
    "mha k weight shape": lambda: separate(k_proj_weight=M),
    "mha v weight shape": lambda: separate(v_proj_weight=M),
    "mha bias shape": lambda: separate(in_proj_bias=torch.ones(12)),
    "mha mask shape": lambda: attend(attn_mask=M),
    "mha mask shape 3d": lambda: attend(attn_mask=torch.ones(3, 4, 4)),
    "mha bias_k": lambda: attend(bias_k=torch.ones(1, 1, 6)),
    "mha bias_v": lambda: attend(bias_v=torch.ones(1, 1, 6)),
    "mha bias static": lambda: attend(bias_k=torch.ones(1, 1, 6), bias_v=torch.ones(1, 1, 6), static_k=Q),
    "mha bias static v": lambda: attend(bias_k=torch.ones(1, 1, 6), bias_v=torch.ones(1, 1, 6), static_v=Q),
    "mha static_k": lambda: attend(static_k=torch.ones(3, 4, 3)),
    "mha static_v": lambda: attend(static_v=torch.ones(4, 4, 2)),
    "mha padding batch": lambda: attend(key_padding_mask=torch.ones(3, 4)),
    "mha padding length": lambda: attend(key_padding_mask=torch.ones(2, 5)),
}


def complaint(call):
    try:
        call()
    except Exception as e:
        # Newer versions know a mode of resizing more, for which the operator is not in all.
        text = str(e).replace("bilinear, bicubic, and lanczos modes", "bilinear and bicubic modes").replace("| lanczos ", "")
        return torch.tensor(list(f"{type(e).__name__}: {text}".encode()), dtype=torch.uint8)
    return torch.tensor(list(b"nothing"), dtype=torch.uint8)


def main(_):
    warnings.simplefilter("ignore")
    return {name: complaint(call) for name, call in CALLS.items()}

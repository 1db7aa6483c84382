"""Self-attention in evaluation, with and without gradients."""
import torch


def main(inputs):
    torch.manual_seed(4)
    torch.randn(3, 17, 64)
    m = torch.nn.MultiheadAttention(64, 4, batch_first=True).eval()
    x, results = inputs["x"], {}
    for name, options in {"plain": {}, "bare": {"need_weights": False}, "heads": {"average_attn_weights": False}}.items():
        results[name + " recorded"] = m(x, x, x, **options)[0]
        with torch.no_grad():
            y, weights = m(x, x, x, **options)
        results |= {name: y} | ({} if weights is None else {name + " weights": weights})
    return results

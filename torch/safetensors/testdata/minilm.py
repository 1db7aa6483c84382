import torch
import torch.nn.functional as F
from safetensors.torch import load_file


def main(inputs, path):
    """Sentence embeddings of all-MiniLM-L6-v2."""
    w = load_file(path)
    linear = lambda x, n: F.linear(x, w[n + ".weight"], w[n + ".bias"])
    norm = lambda x, n: F.layer_norm(x, (384,), w[n + ".weight"], w[n + ".bias"], 1e-12)
    ids = inputs["ids"]
    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "token_type_embeddings.weight"][0] + w[e + "position_embeddings.weight"][: ids.shape[1]]
    x = norm(x, e + "LayerNorm")
    heads = lambda t: t.view(t.shape[0], t.shape[1], 12, 32).transpose(1, 2)
    for i in range(6):
        n = f"encoder.layer.{i}."
        q, k, v = (heads(linear(x, n + "attention.self." + s)) for s in ("query", "key", "value"))
        a = ((q @ k.transpose(-1, -2)) / 32**0.5).softmax(-1) @ v
        a = a.transpose(1, 2).reshape(x.shape)
        x = norm(linear(a, n + "attention.output.dense") + x, n + "attention.output.LayerNorm")
        x = norm(linear(F.gelu(linear(x, n + "intermediate.dense")), n + "output.dense") + x, n + "output.LayerNorm")
    return {"y": F.normalize(x.mean(1), dim=1), "last": x}

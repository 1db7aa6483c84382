"""weights_table.py    the weights that torchvision publishes for its classifiers, a line each as in weights.tsv
weights_table.py categories    what they tell apart, a line each as in imagenet.txt"""
import sys

from torchvision.models import get_model_weights, list_models
import torchvision.models

every = [(name, w) for name in list_models(module=torchvision.models) for w in get_model_weights(name)]
if sys.argv[1:]:
    lists = {tuple(w.meta["categories"]) for _, w in every if w.meta["categories"]}
    print("\n".join(lists.pop()))
    assert not lists, "there are others"
    sys.exit()
for name, w in every:
    t, m = dict(w.transforms.keywords), w.meta
    row = [name, repr(w), w.url, t.pop("crop_size"), t.pop("resize_size", 256), t.pop("interpolation", None)]
    row[-1] = row[-1].value if row[-1] else "bilinear"
    for key in "mean", "std":
        row.append(" ".join(map(repr, t.pop(key, ()))))
    metrics = m["_metrics"]["ImageNet-1K"]
    row += [m["num_params"], *m["min_size"], metrics["acc@1"], metrics["acc@5"], m["_ops"], m["_file_size"], m["recipe"],
            m.get("license", ""), "default" if w == get_model_weights(name).DEFAULT else "", len(m["categories"] or ())]
    assert not t, t
    print(*row, sep="\t")

"""weights.py make NAME FILE    a network of torchvision's with weights by chance, its state dict as FILE
weights.py compare NAME A B         both fit the network and are equal"""
import sys

import torch
import torchvision

verb, *args = sys.argv[1:]
if verb == "make":
    torch.manual_seed(1)
    torch.save(torchvision.models.get_model(args[0]).state_dict(), args[1])
else:
    model = torchvision.models.get_model(args[0])
    a, b = (torch.load(f, weights_only=True) for f in args[1:])
    model.load_state_dict(b)
    versions = {k: v for k, v in a._metadata.items() if v.get("version", 1) != 1}
    assert {k: b._metadata[k] for k in versions} == versions, versions
    assert list(a) == list(b) and all(torch.equal(a[k], b[k]) and a[k].dtype == b[k].dtype for k in a)

// Package hub obtains files of weights by their addresses, as PyTorch's torch.hub does, into the same folder, so that
// what Python fetched is there already:
//
//	state, err := hub.LoadStateDict(ctx, "https://download.pytorch.org/models/resnet18-f37072fd.pth")
//	err = nn.LoadStateDict(model, state)
//
// The folder is $TORCH_HOME/hub/checkpoints, else torch/hub/checkpoints in $XDG_CACHE_HOME or ~/.cache. A name that
// ends in a dash and hexadecimal digits says how the SHA-256 of the file begins, and is held to it. A transfer that
// breaks off goes on where it stopped, also in another process; a file is in its place when all of it is.
package hub

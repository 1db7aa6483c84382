// Package peer asks Python: it runs a script under PyTorch on the same libtorch and hands
// tensors to and fro, so that tests can compare bit for bit.
//
//	got := layer.Forward(x)
//	want := peer.Run(t, "testdata/layer.py", peer.Tensors{"x": x, "weight": layer.Weight})
//	torchtest.Equal(t, got, want["y"])
//
// The script has a function main that takes a dictionary of tensors, and the test's further
// arguments as text, and returns a dictionary of tensors or numbers:
//
//	def main(inputs, *args):
//	    return {"y": torch.nn.functional.linear(inputs["x"], inputs["weight"])}
//
// Python computes with one thread; tests that compare bits do so too:
// torch.SetNumThreads(1).
package peer

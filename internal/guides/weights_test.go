package guides

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/checkpoint"
	"github.com/libtorch-go/libtorch/torch/nn"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

// folder is a folder of the guide's own.
func folder() string {
	dir, err := os.MkdirTemp("", "weights")
	if err != nil {
		panic(err)
	}
	return dir
}

func Example_weights() {
	dir := folder()
	defer os.RemoveAll(dir)
	model := nn.NewLinear(3, 2)
	defer nn.Close(model)

	path := filepath.Join(dir, "model.pt")
	err := pt.Save(path, nn.StateDict(model)) // torch.save(model.state_dict(), path)
	fmt.Println(err)

	state, err := pt.LoadStateDict(path) // torch.load(path, weights_only=True)
	fmt.Println(err)
	state = nn.StripPrefix(state, "_orig_mod.", "module.") // of torch.compile, of DataParallel
	fmt.Println(nn.LoadStateDict(model, state))
	for _, t := range state {
		t.Close()
	}
	// Output:
	// <nil>
	// <nil>
	// <nil>
}

func Example_safetensors() {
	dir := folder()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	model := nn.NewLinear(3, 2)
	defer nn.Close(model)

	fmt.Println(safetensors.Save(path, nn.StateDict(model)))
	fmt.Println(safetensors.LoadInto(path, nn.StateDict(model))) // no second copy in memory

	file, err := safetensors.Open(path, safetensors.OpenOptions{MMap: true}) // or model.safetensors.index.json
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	w, err := file.Tensor("weight") // this one alone
	fmt.Println(w.Shape(), err)
	w.Close()
	// Output:
	// <nil>
	// <nil>
	// [2 3] <nil>
}

func Example_partial() {
	model := nn.NewLinear(3, 2)
	defer nn.Close(model)
	torch.Scope(func() {
		state := maps.Collect(nn.StateDict(model))
		delete(state, "bias")
		fmt.Println(nn.LoadStateDict(model, state))

		var skipped nn.StateDictError // strict=False
		err := nn.LoadStateDict(model, state, nn.LoadOptions{NonStrict: true, Skipped: &skipped})
		fmt.Println(err, skipped.Missing)
	})
	// Output:
	// nn: the state dict does not fit the module: Missing key(s) in state_dict: "bias"
	// <nil> [bias]
}

func Example_resume() {
	dir := folder()
	defer os.RemoveAll(dir)
	model := nn.NewLinear(3, 2)
	defer nn.Close(model)
	opt := optim.NewAdamW(nn.Parameters(model), 1e-3)
	defer opt.Close()

	run, err := checkpoint.Open(dir, checkpoint.Parts{"model": model, "optimizer": opt}, checkpoint.Options{Keep: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer run.Close()
	fmt.Println(run.Save(checkpoint.Point{Step: 100, User: map[string]string{"note": "warm"}}))

	var user map[string]string
	at, err := run.Resume(&user) // the latest that is sound
	fmt.Println(at.Step, user["note"], err)
	// Output:
	// <nil>
	// 100 warm <nil>
}

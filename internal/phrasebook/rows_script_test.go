package phrasebook

import (
	"maps"
	"slices"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
)

// script is what Python scripted; closeScript ends it.
var (
	script      *jit.Module
	closeScript = func() {}
)

var scripts = chapter{
	title:  "TorchScript",
	before: "torch.jit.save(torch.jit.script(nn.Linear(2, 3)), path)\n",
	python: "x = torch.ones(1, 2)\nscript = torch.jit.load(path)",
	setup: func() {
		x = torch.Ones(1, 2)
		closeScript()
		m, err := jit.LoadTrusted(path)
		if err != nil {
			panic(err)
		}
		script, closeScript = m, m.Close
	},
	phrases: []phrase{
		{"m = torch.jit.load(path)" + hidden + "m.original_name", func() any {
			m, err := jit.LoadTrusted(path)
			if err != nil {
				return err
			}
			defer m.Close()
			// ->
			return m.Name()
		}},
		{"m = torch.jit.load(path, map_location='cpu')" + hidden + "m.original_name", func() any {
			m, err := jit.LoadTrusted(path, jit.LoadOptions{Device: torch.CPU})
			if err != nil {
				return err
			}
			defer m.Close()
			// ->
			return m.Name()
		}},
		{"y = script(x)" + hidden + "y.detach()", func() any {
			y := script.Forward1(x)
			// ->
			return y.Detach()
		}},
		{"y = script.forward(input=x)" + hidden + "y.detach()", func() any {
			y, err := script.Call("forward", torch.Arg("input", x))
			if err != nil {
				return err
			}
			// ->
			return y.(torch.Tensor).Detach()
		}},
		{"script.eval()" + hidden + "script.training", func() any {
			err := script.Eval()
			if err != nil {
				return err
			}
			// ->
			on, err := script.Attribute("training")
			if err != nil {
				return err
			}
			return on
		}},
		{"script.in_features", func() any {
			n, err := script.Attribute("in_features")
			if err != nil {
				return err
			}
			return n
		}},
		{"state = script.state_dict()" + hidden + "sorted(state)", func() any {
			state, err := script.StateDict()
			if err != nil {
				return err
			}
			// ->
			return slices.Sorted(maps.Keys(state))
		}},
		{"script.code", func() any {
			code, err := script.Code("forward")
			if err != nil {
				return err
			}
			return code
		}},
		{"frozen = torch.jit.freeze(script.eval())" + hidden + "frozen(x).detach()", func() any {
			err := script.Eval()
			if err != nil {
				return err
			}
			frozen, err := script.Freeze()
			if err != nil {
				return err
			}
			defer frozen.Close()
			// ->
			return frozen.Forward1(x).Detach()
		}},
		{"torch.jit.save(script, path)" + hidden + "True", func() any {
			err := script.Save(path)
			if err != nil {
				return err
			}
			// ->
			return true
		}},
	},
}

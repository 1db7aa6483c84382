package leaks

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
)

// jitCases are about TorchScript.
var jitCases = cases{
	"jit": func() {
		const source = `
def forward(self, x, n: int = 1):
    assert n != 0, "none"
    return x * self.w * n

def parts(self, x, l: List[Tensor], d: Dict[str, Tensor]) -> Tuple[Tensor, List[Tensor], Dict[str, Tensor]]:
    return x, l, d
`
		inner := must(jit.Define("Inner", "def forward(self, x): return x"))
		m := must(jit.Define("Net", source, jit.DefineOptions{
			Parameters: map[string]torch.Tensor{"w": random(3)}, Buffers: map[string]torch.Tensor{"b": random(2)},
			Attributes: map[string]any{"a": []int{1}}, Modules: map[string]*jit.Module{"inner": inner}}))
		inner.Close()
		_, bad := jit.Define("Net", "def forward(self): return y")
		refuse(bad)
		must(m.Forward(random(3)))
		m.Forward1(random(3), torch.Arg("n", 2))
		must(m.Run(random(3)))
		must(jit.Tensors(must(m.Call("parts", random(3), []torch.Tensor{random(2)}, map[string]torch.Tensor{"a": random(1)}))))
		check(m.Warm(random(3)))
		check(m.WarmMethod("forward", random(3)))
		_, bad = m.Forward(random(3), 0)
		refuse(bad)
		died := &jit.InspectError{Err: bad}
		_, _, _ = (&jit.Exception{}).Error(), died.Error(), died.Unwrap()
		must(m.Attribute("a"))
		check(m.SetAttribute("a", []int{2}))
		check(m.Train())
		must(m.State())
		must(m.Parameters())
		must(m.Buffers())
		check(m.LoadStateDict(must(m.StateDict())))
		check(m.To(jit.Target{DType: torch.Float32}))
		must(m.Submodule("inner")).Close()
		_, _, _, _ = m.String(), m.Name(), m.Methods(), m.Attributes()
		_, _ = m.Method("forward")
		must(m.Code("forward"))
		must(m.Graph("forward"))
		check(m.Eval())
		must(m.Freeze()).Close()
		must(m.OptimizeForInference()).Close()
		path := filepath.Join(os.TempDir(), "leaks.jit.pt")
		check(m.Save(path))
		var b bytes.Buffer
		check(m.Write(&b))
		m.Close()
		must(jit.LoadTrusted(path)).Close()
		check(os.Remove(path))
		must(jit.ReadTrusted(&b)).Close()
	},
}

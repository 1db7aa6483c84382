package torch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

type advice struct {
	call         func()
	python, want string
}

func advices() map[string]advice {
	leaf := func() torch.Tensor { return torch.TensorOptions{RequiresGrad: true}.Ones(2) }
	frozen := func() (x torch.Tensor) {
		torch.Inference(func() { x = torch.Ones(2) })
		return x
	}
	no := func() torch.Tensor { return torch.FromSlice([]bool{true, false}) }
	return map[string]advice{
		"twice": {func() {
			y := leaf().Square().Sum()
			y.Backward()
			y.Backward()
		}, "retain_graph=True", "Set RetainGraph in BackwardOptions"},
		"changed in place": {func() {
			y := leaf().MulScalar(2).Exp()
			y.AddScalarInPlace(1)
			y.Sum().Backward()
		}, "set_detect_anomaly(True", "torch.DetectAnomaly."},
		"unused": {func() { torch.Grad([]torch.Tensor{leaf().Sum()}, []torch.Tensor{leaf()}) }, "allow_unused=True",
			"Set AllowUnused in GradOptions"},
		"inference, saved":     {func() { frozen().Mul(leaf()) }, "torch.no_grad()", "use torch.NoGrad instead of torch.Inference."},
		"inference, in place":  {func() { frozen().AddScalarInPlace(1) }, "InferenceMode", "cannot be changed in place outside torch.Inference"},
		"inference, gradients": {func() { frozen().SetRequiresGrad(true) }, "requires_grad=True", "cannot require gradients outside"},
		"gradient to keep":     {func() { torch.Ones(2).RetainGrad() }, "requires_grad=False", "requires no gradients cannot retain one"},
		"a view without gradient": {func() {
			x := leaf()
			var view torch.Tensor
			torch.NoGrad(func() { view = x.Narrow(0, 0, 1) })
			view.AddScalarInPlace(1)
		}, "no_grad mode", "A view was created in torch.NoGrad"},
		"view":         {func() { torch.Ones(2, 3).T().View(-1) }, ".reshape(...)", "Use Reshape instead."},
		"expanded":     {func() { torch.Ones(1).Expand(3).AddScalarInPlace(1) }, "clone()", "Please Clone the tensor"},
		"empty":        {func() { torch.Ones(0).Max() }, "'dim' argument", "give the dimension to reduce"},
		"stft":         {func() { torch.Ones(10).STFT(4) }, "return_complex=True", "needs ReturnComplex in its options"},
		"istft":        {func() { torch.Ones(3, 4).ISTFT(4) }, "return_complex=True", "as STFT with ReturnComplex true returns it"},
		"sign":         {func() { torch.FromSlice([]complex64{1i}).Sign() }, "torch.sgn", "Please use Sgn instead."},
		"rounding":     {func() { torch.Ones(1).DivMode(torch.Ones(1), "up") }, "None, 'trunc'", `one of "", "trunc" and "floor"`},
		"clamp":        {func() { torch.Call("clamp", torch.Ones(1)) }, "not be None", "at least one of minimum and maximum"},
		"conjugate":    {func() { torch.ViewAsReal(torch.FromSlice([]complex64{1i}).Conj()) }, "self.resolve_conj()", "use ResolveConj;"},
		"minus bools":  {func() { no().Sub(no()) }, "logical_xor()", "Use LogicalXor instead."},
		"negated bool": {func() { no().Neg() }, "logical_not()", "use LogicalNot instead."},
		"uncoalesced": {func() {
			torch.SparseCOOTensor(torch.Zeros(1, 2).To(torch.Int64), torch.Ones(2)).Indices()
		}, ".coalesce()", "please call Coalesce first"},
		"lu": {func() { torch.Call("linalg_lu_factor", torch.Zeros(2, 2)) }, "lu_factor_ex(A", "consider linalg.LU or linalg.LUFactorEx"},
	}
}

// Libtorch's advice is Python. Errors give it in Go, and keep libtorch's words in Msg.
func TestAdviceIsGo(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range advices() {
		t.Run(name, func(t *testing.T) {
			err := torch.Try(func() { torch.Scope(c.call) })
			var e *torch.Error
			require.ErrorAs(t, err, &e)
			require.Contains(t, e.Msg, c.python)
			require.Contains(t, err.Error(), c.want)
			require.NotContains(t, err.Error(), c.python)
		})
	}
}

func TestAdviceOfWarningsIsGo(t *testing.T) {
	torchtest.NoLeaks(t)
	texts := make(chan string, 10)
	torch.OnWarning(func(text string) { texts <- text })
	defer torch.OnWarning(nil)
	torch.Scope(func() {
		x := torch.TensorOptions{RequiresGrad: true}.Ones(1)
		x.MulScalar(2).Grad()
	})
	require.Contains(t, <-texts, "call RetainGrad on it before")
}

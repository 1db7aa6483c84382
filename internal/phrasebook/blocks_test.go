package phrasebook

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/optim/lr"
	"github.com/libtorch-go/libtorch/torch/pt"
)

var wholeLoop = chapter{
	title:    "A training loop",
	inBlocks: true,
	phrases: []phrase{
		{`images, labels = torch.randn(10, 4), torch.arange(10) % 3
loader = DataLoader(TensorDataset(images, labels), batch_size=5)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
sched = lr_scheduler.OneCycleLR(opt, max_lr=0.4, total_steps=3 * len(loader))

for epoch in range(3):
    for xs, ys in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(xs), ys)
        loss.backward()
        opt.step()
        sched.step()

model.eval()
right = 0
with torch.inference_mode():
    for xs, ys in loader:
        right += (model(xs).argmax(1) == ys).sum().item()` + hidden + "[right, list(model.parameters())]", func() any {
			images, labels := torch.RandN(10, 4), torch.Arange(10).RemainderScalar(3)
			loader, err := data.NewLoader(data.NewTensorDataset(images, labels), data.LoaderOptions{BatchSize: 5})
			if err != nil {
				return err
			}
			model := nn.NewSequential(nn.NewLinear(4, 8), nn.ReLU{}, nn.NewLinear(8, 3))
			opt := optim.NewSGD(nn.Parameters(model), 0.1, optim.SGDOptions{Momentum: 0.9})
			sched := lr.OneCycle(opt, 0.4, 3*loader.Len())

			for epoch := range 3 {
				for batch, err := range loader.Epoch(ctx, epoch) {
					if err != nil {
						return err
					}
					opt.ZeroGrad()
					loss := F.CrossEntropy(model.Forward(batch.Input), batch.Target)
					loss.Backward()
					opt.Step()
					sched.Step()
				}
			}

			nn.Eval(model)
			right := 0
			for batch, err := range loader.Epoch(ctx, 0) {
				if err != nil {
					return err
				}
				torch.Inference(func() {
					right += model.Forward(batch.Input).ArgMax(1).Eq(batch.Target).Sum().Int()
				})
			}
			return all(right, nn.Parameters(model))
		}},
	},
}

var memory = chapter{
	title:    "del and scopes",
	inBlocks: true,
	python:   "x = torch.randn(4, 3)",
	setup: func() {
		x = torch.RandN(4, 3)
	},
	phrases: []phrase{
		{`total = 0.0
for row in x:
    y = (row * 2).exp()
    total += y.sum().item()
    del y` + hidden + "total", func() any {
			total := 0.0
			for _, row := range x.Rows() {
				torch.Scope(func() {
					y := row.MulScalar(2).Exp()
					total += y.Sum().Float64()
				}) // y, and what was made on the way to it, is freed here
			}
			return total
		}},
		{`best = None
for row in x:
    y = row.softmax(0)
    if best is None or y.max() > best.max():
        best = y` + hidden + `best`, func() any {
			var best torch.Tensor
			for _, row := range x.Rows() {
				torch.Scope(func() {
					y := row.Softmax(0)
					if !best.Defined() || y.Max().Float64() > best.Max().Float64() {
						best.Close()
						best = y.Keep() // outlives the scope
					}
				})
			}
			defer best.Close()
			return best.Clone()
		}},
		{`def normalized(x):
    return (x - x.mean()) / x.std()

y = normalized(x)`, func() any {
			normalized := func(x torch.Tensor) torch.Tensor {
				return torch.Scope1(func() torch.Tensor { return x.Sub(x.Mean()).Div(x.Std()) })
			}
			y = normalized(x) // belongs to the scope around
			return y
		}},
	},
}

var mistakes = chapter{
	title:    "Errors",
	inBlocks: true,
	python:   "x = torch.ones(2, 3)",
	setup: func() {
		x = torch.Ones(2, 3)
	},
	phrases: []phrase{
		{`text = "fine"
try:
    x @ x
except RuntimeError as e:
    text = str(e)` + hidden + "text", func() any {
			text := "fine"
			if err := torch.Try(func() { x.MatMul(x) }); err != nil {
				var e *torch.Error
				errors.As(err, &e) // e.Op, e.Args, e.Caller() tell more
				text = e.Msg
			}
			return text
		}},
		{`try:
    y = torch.zeros(1 << 50)
except RuntimeError:
    y = torch.zeros(1)` + hidden + "y", func() any {
			y, err := torch.Try1(func() torch.Tensor { return torch.Zeros(1 << 50) })
			if errors.Is(err, torch.ErrOutOfMemory) {
				y = torch.Zeros(1)
			}
			return y
		}},
	},
}

var operators = chapter{
	title:    "Operators, and changing in place",
	inBlocks: true,
	python: `x = torch.tensor([1.0, 2.0, 3.0])
y = torch.tensor([4.0, 5.0, 6.0])`,
	setup: func() {
		x = torch.FromSlice([]float32{1, 2, 3})
		y = torch.FromSlice([]float32{4, 5, 6})
	},
	phrases: []phrase{
		{`z = 2 * x + y ** 2 / 3`, func() any {
			z := x.MulScalar(2).Add(y.PowScalar(2).DivScalar(3))
			return z
		}},
		{`z = x        # another name
x = x + y    # a new tensor
z += 1       # the old one, changed` + hidden + "[x, z]", func() any {
			x, z := x, x          // z is another name
			x = x.Add(y)          // a new tensor
			z.AddScalarInPlace(1) // the old one, changed
			return all(x, z)
		}},
	},
}

var views = chapter{
	title:    "Slices are views",
	inBlocks: true,
	python:   "x = torch.arange(12).reshape(3, 4)",
	setup: func() {
		x = torch.Arange(12).Reshape(3, 4)
	},
	phrases: []phrase{
		{`row = x[1]
row.zero_()        # x changes
x[:, -1] = 7
x[0, 1:3] *= 10
x[x > 9] -= 1` + hidden + "x", func() any {
			row := x.Index(1)
			row.ZeroInPlace() // x changes
			x.At(torch.All, -1).Set(7)
			x.Index(0, torch.Slice(1, 3)).MulScalarInPlace(10)
			x.At(x.GtScalar(9)).Add(-1)
			return x
		}},
		{`total = 0
for i, row in enumerate(x):
    total += i * int(row[0])` + hidden + "total", func() any {
			total := 0
			for i, row := range x.Rows() {
				total += i * row.Index(0).Int()
			}
			return total
		}},
		{`numbers = [n * n for n in x[0].tolist()]` + hidden + "numbers", func() any {
			numbers := torch.Values[int](x.Index(0))
			for i, n := range numbers {
				numbers[i] = n * n
			}
			return numbers
		}},
	},
}

var places = chapter{
	title:    "Devices",
	inBlocks: true,
	python:   `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`,
	setup: func() {
		device = torch.DefaultDevice() // the card where there is one
	},
	phrases: []phrase{
		{`model = nn.Linear(3, 2).to(device)
x = torch.ones(4, 3, device=device)
index = torch.tensor([2, 0]).to(device)
y = model(x)[index].cpu()`, func() any {
			model := nn.To(nn.NewLinear(3, 2), device)
			x := torch.TensorOptions{Device: device}.Ones(4, 3)
			index := torch.FromSlice([]int{2, 0}).To(device)
			y = model.Forward(x).Index(index).CPU()
			return y
		}},
	},
}

var device torch.Device

// Squares is a data set of one's own on the page.
type Squares struct{ n int }

// Len is the number of samples.
func (s Squares) Len() int { return s.n }

// At returns sample i.
func (s Squares) At(_ context.Context, i int) (data.Sample, error) {
	x := float32(i)
	return data.Sample{Input: torch.FromSlice([]float32{x}), Target: torch.FromSlice([]float32{x * x})}, nil
}

var iteration = chapter{
	title:    "DataLoader",
	inBlocks: true,
	before: `class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.tensor([float(i)]), torch.tensor([float(i * i)])

`,
	phrases: []phrase{
		{`loader = DataLoader(Squares(5), batch_size=2)
sums = []
for x, y in loader:
    sums.append((x * y).sum().item())` + hidden + "sums", func() any {
			loader, err := data.NewLoader(data.Collate(Squares{5}, data.Stack), data.LoaderOptions{BatchSize: 2})
			if err != nil {
				return err
			}
			sums := []float64{}
			for batch, err := range loader.Epoch(ctx, 0) {
				if err != nil {
					return err // a sample that cannot be read ends the epoch, not the program
				}
				sums = append(sums, batch.Input.Mul(batch.Target).Sum().Float64())
			} // the batch and all made in the body are freed
			return sums
		}},
	},
}

// Cube is a function with a derivative of one's own on the page.
type Cube struct{}

// Forward computes x³.
func (Cube) Forward(ctx *torch.FunctionCtx, in []torch.Tensor) []torch.Tensor {
	ctx.SaveForBackward(in[0])
	return []torch.Tensor{in[0].PowScalar(3)}
}

// Backward multiplies by the derivative, 3x².
func (Cube) Backward(ctx *torch.FunctionCtx, grads []torch.Tensor) []torch.Tensor {
	x := ctx.SavedTensors()[0]
	return []torch.Tensor{grads[0].Mul(x.PowScalar(2).MulScalar(3))}
}

var derivatives = chapter{
	title:    "Derivatives",
	inBlocks: true,
	before: `class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (x ** 2 * 3)

`,
	python: `x = torch.tensor([1.0, 2.0], requires_grad=True)
block = nn.Sequential(nn.Linear(2, 2), nn.Tanh())`,
	setup: func() {
		x = torch.FromSlice([]float32{1, 2}).SetRequiresGrad(true)
		block = nn.NewSequential(nn.NewLinear(2, 2), nn.Tanh{})
	},
	phrases: []phrase{
		{`y = Cube.apply(x)
y.sum().backward()` + hidden + "x.grad", func() any {
			y := torch.Apply1(Cube{}, x)
			y.Sum().Backward()
			return x.Grad()
		}},
		{`y = checkpoint(block, x, use_reentrant=False)
y.sum().backward()` + hidden + "x.grad", func() any {
			y := nn.Checkpoint(func(in ...torch.Tensor) torch.Tensor { return block.Forward(in[0]) }, x)
			y.Sum().Backward()
			return x.Grad()
		}},
		{`opt = optim.SGD(block.parameters(), lr=0.1, fused=True)
for i in range(4):
    loss = block(x * i).sum() / 2
    loss.backward()
    if i % 2 == 1:    # a step after every second batch
        opt.step()
        opt.zero_grad()` + hidden + "list(block.parameters())", func() any {
			opt := optim.NewSGD(nn.Parameters(block), 0.1)
			for i := range 4 {
				torch.Scope(func() {
					loss := block.Forward(x.MulScalar(i)).Sum().DivScalar(2)
					loss.Backward()
				})
				if i%2 == 1 { // a step after every second batch
					opt.Step()
					opt.ZeroGrad()
				}
			}
			return nn.Parameters(block)
		}},
	},
}

var states = chapter{
	title:    "State dicts and checkpoints",
	inBlocks: true,
	python: `model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
other = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5))`,
	setup: func() {
		model = nn.NewSequential(nn.NewLinear(3, 4), nn.NewLinear(4, 2))
		other = nn.NewSequential(nn.NewLinear(3, 4), nn.NewLinear(4, 5))
	},
	phrases: []phrase{
		{`torch.save(model.state_dict(), path)
model.load_state_dict(torch.load(path))` + hidden + "list(model.parameters())", func() any {
			if err := pt.Save(path, nn.StateDict(model)); err != nil {
				return err
			}
			state, err := pt.LoadStateDict(path)
			if err != nil {
				return err
			}
			if err := nn.LoadStateDict(model, state); err != nil {
				return err
			}
			return nn.Parameters(model)
		}},
		{`state = {k: v for k, v in model.state_dict().items() if not k.startswith("1.")}
missing = other.load_state_dict(state, strict=False).missing_keys` + hidden + "[missing, list(other.parameters())]", func() any {
			state := maps.Collect(nn.StateDict(model))
			maps.DeleteFunc(state, func(k string, _ torch.Tensor) bool { return strings.HasPrefix(k, "1.") })
			var skipped nn.StateDictError
			if err := nn.LoadStateDict(other, state, nn.LoadOptions{NonStrict: true, Skipped: &skipped}); err != nil {
				return err
			}
			missing := skipped.Missing
			return all(missing, nn.Parameters(other))
		}},
	},
}

// The networks that setups make.
var model, other, block nn.Sequential

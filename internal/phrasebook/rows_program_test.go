package phrasebook

import (
	"context"
	"fmt"
	"maps"

	"github.com/libtorch-go/libtorch/amp"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/data"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/optim"
	"github.com/libtorch-go/libtorch/torch/pt"
	"github.com/libtorch-go/libtorch/torch/safetensors"
)

var (
	ctx     = context.Background()
	dataset *data.TensorDataset
)

var loading = chapter{
	title: "Data",
	python: `x, y = torch.arange(10.0).reshape(5, 2), torch.arange(5)
dataset = TensorDataset(x, y)`,
	setup: func() {
		x, y = torch.Arange(10.0).Reshape(5, 2), torch.Arange(5)
		dataset = data.NewTensorDataset(x, y)
	},
	phrases: []phrase{
		{"len(dataset)", func() any { return dataset.Len() }},
		{`loader = DataLoader(dataset, batch_size=2)
n = len(loader)`, func() any {
			loader, err := data.NewLoader(dataset, data.LoaderOptions{BatchSize: 2})
			if err != nil {
				return err
			}
			n := loader.Len()
			return n
		}},
		{"loader = DataLoader(dataset, batch_size=2, drop_last=True)" + hidden + "len(loader)", func() any {
			loader, err := data.NewLoader(dataset, data.LoaderOptions{BatchSize: 2, DropLast: true})
			if err != nil {
				return err
			}
			return loader.Len()
		}},
		{"loader = DataLoader(dataset, batch_size=128, shuffle=True, num_workers=2, pin_memory=False)" + hidden + "len(loader)", func() any {
			loader, err := data.NewLoader(dataset, data.LoaderOptions{BatchSize: 128, Shuffle: true, Workers: 2})
			if err != nil {
				return err
			}
			return loader.Len()
		}},
		{`total = 0.0
for xs, ys in DataLoader(dataset, batch_size=2):
    total += (xs.sum() * ys.sum()).item()`, func() any {
			total := 0.0
			loader, err := data.NewLoader(dataset, data.LoaderOptions{BatchSize: 2})
			if err != nil {
				return err
			}
			for batch, err := range loader.Epoch(ctx, 0) {
				if err != nil {
					return err
				}
				total += batch.Input.Sum().Mul(batch.Target.Sum()).Float64()
			}
			return total
		}},
		{"list(SequentialSampler(dataset))", func() any { return data.Sequential(5).Indices(0) }},
		{"list(DistributedSampler(dataset, num_replicas=1, rank=0, seed=7))", func() any { return data.Random(5, 7).Indices(0) }},
		{"list(DistributedSampler(dataset, num_replicas=2, rank=1, seed=7))", func() any {
			return data.Shard(data.Random(5, 7), 1, 2).Indices(0)
		}},
	},
}

var precision = chapter{
	title: "Mixed precision",
	python: `x, y = torch.randn(4, 3), torch.randn(4, 1)
linear = nn.Linear(3, 1)
opt = optim.SGD(linear.parameters(), lr=0.1, fused=True)`,
	setup: func() {
		x, y = torch.RandN(4, 3), torch.RandN(4, 1)
		linear = nn.NewLinear(3, 1)
		opt = optim.NewSGD(nn.Parameters(linear), 0.1)
	},
	phrases: []phrase{
		{`with torch.autocast('cpu', dtype=torch.bfloat16):
    out = linear(x)`, func() any {
			var out torch.Tensor
			amp.Autocast(torch.CPU, torch.BFloat16, func() { out = linear.Forward(x) })
			return out
		}},
		{`with torch.autocast('cpu'):
    loss = F.mse_loss(linear(x), y)
loss.backward()` + hidden + "linear.weight.grad", func() any {
			var loss torch.Tensor
			amp.Autocast(torch.CPU, torch.DType{}, func() { loss = F.MSELoss(linear.Forward(x), y) })
			loss.Backward()
			return linear.Weight.Grad()
		}},
		{"torch.is_autocast_enabled('cpu')", func() any { return torch.Autocasting(torch.CPU).Enabled }},
		{`scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
with torch.autocast("cpu", dtype=torch.float16):
    loss = F.mse_loss(linear(x), y)
scaler.scale(loss).backward()
scaler.step(opt)
scaler.update()` + hidden + "linear.weight", func() any {
			scaler := amp.NewGradScaler(torch.CPU, amp.GradScalerOptions{DType: torch.Float16, InitScale: 1024})
			var loss torch.Tensor
			amp.Autocast(torch.CPU, torch.Float16, func() { loss = F.MSELoss(linear.Forward(x), y) })
			scaler.Scale(loss).Backward()
			scaler.Step(opt)
			return linear.Weight
		}},
	},
}

var printing = chapter{
	title: "Printing",
	python: `x = torch.tensor([[1.0, 2.5], [-3.0, 1e-5]])
v = torch.arange(2000)
w = torch.ones(2, requires_grad=True)`,
	setup: func() {
		x = torch.FromNested([][]float32{{1, 2.5}, {-3, 1e-5}})
		v = torch.Arange(2000)
		w = torch.TensorOptions{RequiresGrad: true}.Ones(2)
	},
	phrases: []phrase{
		{"str(x)", func() any { return fmt.Sprint(x) }},
		{"str(v)", func() any { return fmt.Sprint(v) }},
		{"str(w * w)", func() any { return fmt.Sprint(w.Mul(w)) }},
		{"str(x.to(torch.bfloat16))", func() any { return fmt.Sprint(x.To(torch.BFloat16)) }},
		{"f'{x.sum().item():.4f}'", func() any { return fmt.Sprintf("%.4f", x.Sum().Item()) }},
		{"f'loss {x.sum():.4f}'", func() any { return fmt.Sprintf("loss %.4f", x.Sum()) }},
		{"str(x.sum())", func() any { return fmt.Sprint(x.Sum()) }},
		{"str(x.shape[0]) + 'x' + str(x.shape[1])", func() any { return fmt.Sprintf("%dx%d", x.Size(0), x.Size(1)) }},
		{`torch.set_printoptions(precision=2)
text = str(x)` + hidden + `torch.set_printoptions(profile='default')
text`, func() any {
			torch.SetPrintOptions(torch.PrintOptions{Precision: new(2)})
			text := fmt.Sprint(x)
			// ->
			torch.SetPrintOptions(torch.PrintOptions{})
			return text
		}},
	},
}

var machine = chapter{
	title:  "Memory, files and the machine",
	python: "x = torch.ones(2, 3)",
	setup: func() {
		x = torch.Ones(2, 3)
	},
	phrases: []phrase{
		{"del x" + hidden + "True", func() any { x.Close(); return x.Closed() }},
		{`torch.save({'x': x}, path)
y = torch.load(path)['x']`, func() any {
			err := pt.Save(path, map[string]torch.Tensor{"x": x})
			if err != nil {
				return err
			}
			file, err := pt.LoadStateDict(path)
			if err != nil {
				return err
			}
			y = file["x"]
			return y
		}},
		{`safetensors.torch.save_file({'x': x}, path)
y = safetensors.torch.load_file(path)['x']`, func() any {
			err := safetensors.Save(path, maps.All(map[string]torch.Tensor{"x": x}))
			if err != nil {
				return err
			}
			file, err := safetensors.Load(path)
			if err != nil {
				return err
			}
			y = file.Tensors["x"]
			return y
		}},
		{`torch.set_num_threads(2)
n = torch.get_num_threads()` + hidden + `torch.set_num_threads(1)
n`, func() any {
			torch.SetNumThreads(2)
			n := torch.NumThreads()
			// ->
			torch.SetNumThreads(1)
			return n
		}},
		{"torch.backends.cudnn.benchmark = True" + hidden + `torch.backends.cudnn.benchmark = False
True`, func() any {
			cuda.Set(cuda.Settings{Benchmark: cuda.On})
			// ->
			on := cuda.Current().Benchmark == cuda.On
			cuda.Set(cuda.Settings{Benchmark: cuda.Off})
			return on
		}},
		{`torch.use_deterministic_algorithms(True)
on = torch.are_deterministic_algorithms_enabled()` + hidden + `torch.use_deterministic_algorithms(False)
on`, func() any {
			cuda.Set(cuda.Settings{DeterministicAlgorithms: cuda.On})
			on := cuda.Current().DeterministicAlgorithms == cuda.On
			// ->
			cuda.Set(cuda.Settings{DeterministicAlgorithms: cuda.Off})
			return on
		}},
		{"torch.backends.cuda.matmul.fp32_precision = 'tf32'" + hidden + `torch.backends.cuda.matmul.fp32_precision = 'none'
True`, func() any {
			cuda.Set(cuda.Settings{MatMul: cuda.TF32})
			// ->
			on := cuda.Current().MatMul == cuda.TF32
			cuda.Set(cuda.Settings{MatMul: cuda.PrecisionDefault})
			return on
		}},
	},
}

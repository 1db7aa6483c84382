package phrasebook

import (
	"maps"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	nnutils "github.com/libtorch-go/libtorch/torch/nn/utils"
	"github.com/libtorch-go/libtorch/torch/nn/utils/rnn"
	"github.com/libtorch-go/libtorch/torch/pt"
)

// Net is the module of one's own on the page.
type Net struct {
	Conv1 *nn.Conv2d
	BN    *nn.BatchNorm2d
	FC    *nn.Linear
}

// NewNet makes a Net.
func NewNet() *Net {
	return &Net{
		Conv1: nn.NewConv2d(1, 4, 3),
		BN:    nn.NewBatchNorm2d(4),
		FC:    nn.NewLinear(16, 3),
	}
}

// Forward maps images [N, 1, 6, 6] to scores [N, 3].
func (n *Net) Forward(x torch.Tensor) torch.Tensor {
	x = F.MaxPool2d(F.ReLU(n.BN.Forward(n.Conv1.Forward(x))), 2)
	return n.FC.Forward(x.Flatten(1))
}

var (
	net    *Net
	linear *nn.Linear
)

// detached are the tensors as Python's state_dict gives them.
func detached(state map[string]torch.Tensor) map[string]torch.Tensor {
	for name, t := range state {
		state[name] = t.Detach()
	}
	return state
}

const netInPython = `class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv1(x))), 2)
        return self.fc(x.flatten(1))

`

var modules = chapter{
	title:  "Modules",
	before: netInPython,
	python: `net = Net()
linear = nn.Linear(4, 4)
x = torch.randn(2, 1, 6, 6)`,
	setup: func() {
		net = NewNet()
		linear = nn.NewLinear(4, 4)
		x = torch.RandN(2, 1, 6, 6)
	},
	phrases: []phrase{
		{"net(x)", func() any { return net.Forward(x) }},
		{`net.eval()
y = net(x)`, func() any {
			nn.Eval(net)
			y = net.Forward(x)
			return y
		}},
		{`net.train()
y = net(x)`, func() any {
			nn.Train(net)
			y = net.Forward(x)
			return y
		}},
		{`net.eval()
with torch.inference_mode():
    y = net(x)`, func() any {
			nn.Eval(net)
			torch.Inference(func() { y = net.Forward(x) })
			return y
		}},
		{"net.bn.training", func() any { return net.BN.Mode == nn.Training }},
		{"net.fc.weight", func() any { return net.FC.Weight }},
		{"list(net.parameters())", func() any { return nn.Parameters(net) }},
		{"sum(p.numel() for p in net.parameters())", func() any { return nn.NumParameters(net) }},
		{"dict(net.named_parameters())", func() any { return maps.Collect(nn.NamedParameters(net)) }},
		{`names = []
for name, p in net.named_parameters():
    if p.dim() > 1:
        names.append(name)` + hidden + "names", func() any {
			names := []string{}
			for name, p := range nn.NamedParameters(net) {
				if p.Dim() > 1 {
					names = append(names, name)
				}
			}
			return names
		}},
		{"dict(net.named_buffers())", func() any { return maps.Collect(nn.NamedBuffers(net)) }},
		{`for name, m in net.named_modules():
    if isinstance(m, nn.Conv2d):
        y = m.weight`, func() any {
			for _, m := range nn.NamedModules(net) {
				if m, ok := m.(*nn.Conv2d); ok {
					y = m.Weight
				}
			}
			return y
		}},
		{"state = net.state_dict()" + hidden + "state", func() any { state := maps.Collect(nn.StateDict(net)); return detached(state) }},
		{`other = Net()
other.load_state_dict(net.state_dict())` + hidden + "other.state_dict()", func() any {
			other := NewNet()
			err := nn.LoadStateDict(other, maps.Collect(nn.StateDict(net)))
			if err != nil {
				return err
			}
			return detached(maps.Collect(nn.StateDict(other)))
		}},
		{"torch.save(net.state_dict(), path)" + hidden + "net.state_dict()", func() any {
			err := pt.Save(path, nn.StateDict(net))
			if err != nil {
				return err
			}
			return detached(maps.Collect(nn.StateDict(net)))
		}},
		{`torch.save(net.state_dict(), path)
net.load_state_dict(torch.load(path))` + hidden + "net.state_dict()", func() any {
			err := pt.Save(path, nn.StateDict(net))
			if err != nil {
				return err
			}
			state, err := pt.LoadStateDict(path)
			if err != nil {
				return err
			}
			err = nn.LoadStateDict(net, state)
			if err != nil {
				return err
			}
			return detached(maps.Collect(nn.StateDict(net)))
		}},
		{"net.to(torch.float64)(x.double())", func() any { return nn.To(net, torch.Float64).Forward(x.To(torch.Float64)) }},
		{"net.to('cpu')(x)", func() any { return nn.To(net, torch.CPU).Forward(x) }},
		{"net.to(memory_format=torch.channels_last)(x)", func() any { return nn.To(net, torch.ChannelsLast).Forward(x) }},
		{"net(x).sum().backward()" + hidden + "net.fc.weight.grad", func() any {
			net.Forward(x).Sum().Backward()
			return net.FC.Weight.Grad()
		}},
		{`net(x).sum().backward()
net.zero_grad()` + hidden + "net.fc.weight.grad", func() any {
			net.Forward(x).Sum().Backward()
			nn.ZeroGrad(net)
			return net.FC.Weight.Grad()
		}},
		{"net.requires_grad_(False)(x)", func() any { return nn.SetRequiresGrad(net, false).Forward(x) }},
		{`for p in net.conv1.parameters():
    p.requires_grad = False` + hidden + "[p.requires_grad for p in net.parameters()]", func() any {
			for _, p := range nn.Parameters(net.Conv1) {
				p.SetRequiresGrad(false)
			}
			// ->
			frozen := []bool{}
			for _, p := range nn.Parameters(net) {
				frozen = append(frozen, p.RequiresGrad())
			}
			return frozen
		}},
		{"copy.deepcopy(net)(x)", func() any { return nn.Clone(net).Forward(x) }},
		{`def init(m):
    if isinstance(m, nn.Linear):
        nn.init.zeros_(m.bias)

net.apply(init)` + hidden + "net.fc.bias", func() any {
			nn.Apply(net, func(m any) {
				if m, ok := m.(*nn.Linear); ok {
					nninit.Zeros(m.Bias)
				}
			})
			return net.FC.Bias
		}},
		{`outputs = []
h = net.fc.register_forward_hook(lambda m, i, o: outputs.append(o))
net(x)
h.remove()` + hidden + "outputs", func() any {
			outputs := []torch.Tensor{}
			h := nn.RegisterForwardHook(net.FC, func(_ any, _, o []torch.Tensor) []torch.Tensor {
				outputs = append(outputs, o[0])
				return nil
			})
			net.Forward(x)
			h.Remove()
			return outputs
		}},
		{"nn.init.xavier_uniform_(linear.weight)", func() any { return nninit.XavierUniform(linear.Weight) }},
		{"nn.init.kaiming_normal_(linear.weight, mode='fan_out', nonlinearity='relu')", func() any {
			return nninit.KaimingNormal(linear.Weight, nninit.KaimingOptions{Mode: nninit.FanOut, Nonlinearity: nninit.ReLU})
		}},
		{"nn.init.normal_(linear.weight, std=0.02)", func() any { return nninit.Normal(linear.Weight, 0, 0.02) }},
		{"nn.init.constant_(linear.bias, 0.1)", func() any { return nninit.Constant(linear.Bias, 0.1) }},
		{"nn.init.orthogonal_(linear.weight)", func() any { return nninit.Orthogonal(linear.Weight) }},
		{"nn.init.trunc_normal_(linear.weight, std=0.02)", func() any { return nninit.TruncNormal(linear.Weight, 0, 0.02, -2, 2) }},
		{`net(x).sum().backward()
total = nn.utils.clip_grad_norm_(net.parameters(), 1.0)` + hidden + "[total, net.fc.weight.grad]", func() any {
			net.Forward(x).Sum().Backward()
			total := nnutils.ClipGradNorm(nn.Parameters(net), 1)
			return all(total, net.FC.Weight.Grad())
		}},
		{`net(x).sum().backward()
nn.utils.clip_grad_value_(net.parameters(), 0.5)` + hidden + "net.fc.weight.grad", func() any {
			net.Forward(x).Sum().Backward()
			nnutils.ClipGradValue(nn.Parameters(net), 0.5)
			return net.FC.Weight.Grad()
		}},
		{"nn.utils.parameters_to_vector(linear.parameters())", func() any { return nnutils.ParametersToVector(nn.Parameters(linear)) }},
		{"nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(4)], batch_first=True)", func() any {
			return rnn.PadSequence([]torch.Tensor{torch.Ones(2), torch.Ones(4)}, rnn.PadSequenceOptions{BatchFirst: true})
		}},
	},
}

package profiler

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) {
	torch.SetNumThreads(1)
	torchtest.Main(m)
}

// question is one for testdata/profiler.py, and what is to be done with the answer.
type question struct {
	request any
	check   func(t *testing.T, answer []byte)
}

// Python starts once for all questions.
func TestAsPython(t *testing.T) {
	torchtest.NoLeaks(t)
	questions := map[string]question{"workload": rowsQuestion(), "table": tableQuestion(), "schedule": scheduleQuestion()}
	requests := map[string]any{}
	for name, q := range questions {
		requests[name] = q.request
	}
	text, err := json.Marshal(requests)
	require.NoError(t, err)
	cmd := peer.Command(t, "testdata/profiler.py")
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	var answers map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(out, &answers))
	for name, q := range questions {
		t.Run(name, func(t *testing.T) { q.check(t, answers[name]) })
	}
}

type row struct {
	Name   string `json:"name"`
	Count  int    `json:"count"`
	Shapes string `json:"shapes"`
	FLOPs  int64  `json:"flops"`
	Memory int64  `json:"memory"`
	Own    int64  `json:"own"`
}

// The same work has the same rows, in the same order: names, calls, shapes, FLOPs, bytes.
func rowsQuestion() question {
	shapes := map[string][]int{"x": {2, 3, 8, 8}, "kernel": {4, 3, 3, 3}, "weight": {5, 64}, "bias": {5}, "batch": {2, 3, 4}, "one": {}}
	return question{shapes, func(t *testing.T, answer []byte) {
		var want map[string][]row
		require.NoError(t, json.Unmarshal(answer, &want))
		got := map[string][]row{}
		torch.Scope(func() {
			r, err := recordWork(shapes)
			require.NoError(t, err)
			defer r.Close()
			got["names"], got["shapes"] = rows(r, false), rows(r, true)
		})
		for _, by := range []string{"names", "shapes"} {
			require.NotEmpty(t, want[by])
			require.Equal(t, comparable(want[by]), comparable(got[by]), by)
		}
	}}
}

func recordWork(shapes map[string][]int) (*Result, error) {
	in := map[string]torch.Tensor{}
	for name, shape := range shapes {
		n := 1
		for _, d := range shape {
			n *= d
		}
		in[name] = torch.Arange(n).To(torch.Float32).Reshape(shape...)
	}
	for _, name := range []string{"kernel", "weight", "bias"} {
		in[name].SetRequiresGrad(true)
	}
	target := torch.FromSlice([]int64{1, 0}, 2)
	step := func() { torch.Scope(func() { work(in, target) }) }
	step() // the memory of gradients is there before
	o := Options{Activities: []Activity{CPU}, RecordShapes: true, ProfileMemory: true, WithFLOPs: true}
	return Profile(func(*Profiler) { step() }, o)
}

// comparable leaves out what depends on when the language in front frees a tensor that it has
// no name for: the ranges' bytes, and the frees outside of operators.
func comparable(list []row) []row {
	list = slices.DeleteFunc(list, func(r row) bool { return r.Name == memoryName })
	for i, r := range list {
		if slices.Contains([]string{"forward", "features", "head", "backward"}, r.Name) {
			list[i].Memory, list[i].Own = 0, 0
		}
	}
	return list
}

// work is what workload in testdata/profiler.py does.
func work(in map[string]torch.Tensor, target torch.Tensor) {
	var loss torch.Tensor
	Record("forward", func() {
		torch.Scope(func() { loss = forward(in, target).MoveOut() })
	})
	Record("backward", func() { loss.Backward(torch.BackwardOptions{Gradient: in["one"]}) })
	torch.Cat([]torch.Tensor{in["x"], in["x"]}, 1)
	in["batch"].BMM(in["batch"].Transpose(1, 2))
	in["x"].Add(in["x"]).Mul(in["x"])
}

func forward(in map[string]torch.Tensor, target torch.Tensor) (loss torch.Tensor) {
	var x torch.Tensor
	Record("features", func() {
		x = F.Conv2d(in["x"], in["kernel"], torch.Tensor{}, F.ConvOptions{Padding: 1}).ReLU()
		x = F.MaxPool2d(x, 2)
	})
	Record("head", func() {
		y := aten.Linear(x.Flatten(1), in["weight"], in["bias"])
		loss = F.NLLLoss(y.LogSoftmax(1), target)
	})
	return loss
}

func rows(r *Result, byShapes bool) (list []row) {
	for _, a := range r.KeyAverages(AverageOptions{GroupByInputShapes: byShapes}).Rows {
		one := row{Name: a.Name, Count: a.Count, FLOPs: a.FLOPs, Memory: a.CPUMemory, Own: a.SelfCPUMemory}
		if byShapes {
			one.Shapes = shapesText(a.Shapes)
		}
		list = append(list, one)
	}
	return list
}

type tableRequest struct {
	CUDA   bool             `json:"cuda"`
	Events []map[string]any `json:"events"`
	Tables []map[string]any `json:"tables"`
}

// Tables of the same events are the same text.
func tableQuestion() question {
	events := scene()
	request := tableRequest{CUDA: true}
	for _, e := range events {
		var kernels []time.Duration
		for _, k := range e.Kernels {
			kernels = append(kernels, k.Time)
		}
		request.Events = append(request.Events, map[string]any{
			"name": e.Key(), "thread": e.Thread, "start": e.Start, "end": e.End, "shapes": e.Shapes, "flops": e.FLOPs, "memory": e.CPUMemory,
			"device_memory": e.DeviceMemory, "on_card": !e.onCPU(), "async": e.Async, "range": e.Range, "kernels": kernels,
		})
	}
	cases := []struct {
		python map[string]any
		own    TableOptions
		shapes bool
	}{
		{python: map[string]any{}},
		{python: map[string]any{"by_shapes": true, "max_shapes_column_width": 20}, own: TableOptions{MaxShapesWidth: 20}, shapes: true},
		{python: map[string]any{"sort_by": "self_cuda_time_total", "row_limit": 3, "header": "of the card"},
			own: TableOptions{SortBy: BySelfDeviceTimeTotal, RowLimit: 3, Header: "of the card"}},
		{python: map[string]any{"sort_by": "cpu_time", "time_unit": "ms"}, own: TableOptions{SortBy: ByCPUTime, TimeUnit: time.Millisecond}},
		{python: map[string]any{"sort_by": "count", "top_level_events_only": true}, own: TableOptions{SortBy: ByCount, TopLevelOnly: true}},
		{python: map[string]any{"sort_by": "self_cpu_memory_usage", "max_name_column_width": 16, "row_limit": -1, "time_unit": "s"},
			own: TableOptions{SortBy: BySelfCPUMemory, MaxNameWidth: 16, RowLimit: -1, TimeUnit: time.Second}},
	}
	for _, c := range cases {
		request.Tables = append(request.Tables, c.python)
	}
	return question{request, func(t *testing.T, answer []byte) {
		var want []string
		require.NoError(t, json.Unmarshal(answer, &want))
		r := &Result{events: grow(events), plan: plan{cpu: true, cuda: true, memory: true, flops: true}}
		for i, c := range cases {
			require.Equal(t, want[i], r.KeyAverages(AverageOptions{GroupByInputShapes: c.shapes}).Table(c.own), c.python)
		}
	}}
}

// scene is a recording with something of everything, in the order of time.
func scene() []*Event {
	const us, ms = time.Microsecond, time.Millisecond
	card := torch.CUDA(0)
	events := []*Event{
		{Name: "ProfilerStep#3", Thread: 1, Start: 0, End: 1500 * ms, Range: true, CPUMemory: 5 << 30, DeviceMemory: 3 << 20},
		{Name: "aten::linear", Thread: 1, Start: 1 * us, End: 900 * us, Shapes: [][]int{{2, 3}, {4, 3}, {4}}, CPUMemory: 1000,
			DeviceMemory: 2 << 20},
		{Name: "aten::addmm", Thread: 1, Start: 10 * us, End: 850*us + 7, Shapes: [][]int{{4}, {2, 3}, {3, 4}}, FLOPs: 48_000_000,
			CPUMemory: 1000, DeviceMemory: 2 << 20, Kernels: []Kernel{{"k", card, 30 * us}, {"k", card, 12*us + 5}}},
		{Name: "aten::empty", Thread: 1, Start: 12 * us, End: 15 * us, CPUMemory: 1 << 20},
		{Name: "a kernel with a name that is longer than any column could be, as they are", Thread: 7, Start: 20 * us, End: 50 * us,
			Device: card},
		{Name: "kernel", Thread: 7, Start: 60 * us, End: 72*us + 5, Device: card},
		{Name: "aten::addmm", Thread: 2, Start: 100 * us, End: 2100 * us, FLOPs: 1_500, CPUMemory: -70_000},
		{Name: "aten::addmm", Thread: 2, Start: 200 * us, End: 2000 * us, FLOPs: 7, CPUMemory: -70_000},
		{Name: "aten::relu", Thread: 2, Start: 300 * us, End: 400 * us, Shapes: [][]int{{2, 3}}},
		{Name: "asynchronous", Thread: 2, Start: 350 * us, End: 950 * us, Async: true, CPUMemory: 64},
		{Name: "ProfilerStep#3", Thread: 7, Start: 400 * us, End: 990 * us, Device: card, Range: true},
		{Name: "straße", Thread: 2, Start: 2090 * us, End: 2200 * us},
		{Name: "ProfilerStep#4", Thread: 1, Start: 1500 * ms, End: 1600 * ms, Range: true},
	}
	for _, e := range events {
		if e.Device.IsZero() {
			e.Device = torch.CPU
		}
	}
	slices.SortStableFunc(events, byTime)
	return events
}

// The phases are numbered like torch.profiler.ProfilerAction.
func scheduleQuestion() question {
	schedules := []Schedule{
		{Active: 1}, {Active: 3}, {Wait: 2, Warmup: 1, Active: 3}, {SkipFirst: 4, Wait: 2, Warmup: 2, Active: 1, Repeat: 2},
		{SkipFirst: 3, Wait: 5, Active: 2, SkipFirstWait: true}, {Warmup: 3, Active: 4, Repeat: 1},
	}
	var asked []map[string]any
	for _, s := range schedules {
		first := 0
		if s.SkipFirstWait {
			first = 1
		}
		asked = append(asked, map[string]any{"skip_first": s.SkipFirst, "wait": s.Wait, "warmup": s.Warmup, "active": s.Active,
			"repeat": s.Repeat, "skip_first_wait": first})
	}
	return question{asked, func(t *testing.T, answer []byte) {
		var want [][]phase
		require.NoError(t, json.Unmarshal(answer, &want))
		for i, s := range schedules {
			for step, phase := range want[i] {
				require.Equal(t, phase, s.at(step), "%+v, step %d", s, step)
			}
		}
	}}
}

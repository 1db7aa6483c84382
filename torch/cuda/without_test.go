package cuda_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/cuda"
	"github.com/libtorch-go/libtorch/torch/cuda/nvtx"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

var someStream = cuda.Stream{}

func nothing([]torch.Tensor) []torch.Tensor { return nil }

// withoutCard is every function and method that needs a card, by its name.
var withoutCard = map[string]func(){
	"Memory":                  func() { cuda.Memory(0) },
	"MemoryStats":             func() { cuda.MemoryStats(0) },
	"MemorySummary":           func() { cuda.MemorySummary(0, false) },
	"MemoryInfo":              func() { cuda.MemoryInfo(0) },
	"MemorySnapshot":          func() { cuda.MemorySnapshot() },
	"DumpSnapshot":            func() { raise(cuda.DumpSnapshot(os.DevNull)) },
	"RecordMemoryHistory":     func() { cuda.RecordMemoryHistory() },
	"ResetPeakMemory":         func() { cuda.ResetPeakMemory(0) },
	"ResetAccumulatedMemory":  func() { cuda.ResetAccumulatedMemory(0) },
	"EmptyCache":              func() { cuda.EmptyCache() },
	"SetMemoryFraction":       func() { cuda.SetMemoryFraction(0, 0.5) },
	"MemoryFraction":          func() { cuda.MemoryFraction(0) },
	"NewPoolID":               func() { torch.Scope(func() { cuda.WithMemPool(nil, func() { cuda.NewPoolID() }) }) },
	"NewMemPool":              func() { cuda.NewMemPool() },
	"WithMemPool":             func() { cuda.WithMemPool(nil, func() {}) },
	"MemPool.ID":              func() { (*cuda.MemPool)(nil).ID() },
	"Synchronize":             func() { cuda.Synchronize(0) },
	"CurrentDevice":           func() { cuda.CurrentDevice() },
	"WithDevice":              func() { cuda.WithDevice(0, func() {}) },
	"CanAccessPeer":           func() { cuda.CanAccessPeer(0, 1) },
	"DeviceProperties":        func() { cuda.DeviceProperties(0) },
	"DeviceName":              func() { cuda.DeviceName(-1) },
	"DeviceCapability":        func() { cuda.DeviceCapability(0) },
	"ManualSeed":              func() { cuda.ManualSeed(0, 1) },
	"InitialSeed":             func() { cuda.InitialSeed(0) },
	"RNGState":                func() { cuda.RNGState(0) },
	"SetRNGState":             func() { cuda.SetRNGState(0, torch.Tensor{}) },
	"DefaultStream":           func() { cuda.DefaultStream(0) },
	"CurrentStream":           func() { cuda.CurrentStream(0) },
	"NewStream":               func() { cuda.NewStream(0, cuda.StreamOptions{Priority: -1}) },
	"ExternalStream":          func() { cuda.ExternalStream(0, 0) },
	"NewRecorder":             func() { cuda.NewRecorder(0) },
	"Recorder.Run":            func() { raise((*cuda.Recorder)(nil).Run(func() {})) },
	"Recorder.Capture":        func() { raise((*cuda.Recorder)(nil).Capture(nil, func() {})) },
	"StreamPriorities":        func() { cuda.StreamPriorities() },
	"WithStream":              func() { cuda.WithStream(someStream, func() {}) },
	"RecordStream":            func() { cuda.RecordStream(someStream, torch.Tensor{}) },
	"Stream.Pointer":          func() { someStream.Pointer() },
	"Stream.Priority":         func() { someStream.Priority() },
	"Stream.Query":            func() { someStream.Query() },
	"Stream.Synchronize":      func() { someStream.Synchronize() },
	"Stream.WaitEvent":        func() { someStream.WaitEvent(nil) },
	"Stream.WaitStream":       func() { someStream.WaitStream(someStream) },
	"Stream.RecordEvent":      func() { someStream.RecordEvent() },
	"NewEvent":                func() { cuda.NewEvent(cuda.EventOptions{Timing: true, Blocking: true}) },
	"Event.Record":            func() { new(cuda.Event).Record(someStream) },
	"Event.Wait":              func() { new(cuda.Event).Wait() },
	"Event.Query":             func() { new(cuda.Event).Query() },
	"Event.Synchronize":       func() { new(cuda.Event).Synchronize() },
	"Event.Elapsed":           func() { new(cuda.Event).Elapsed(nil) },
	"NewGraph":                func() { cuda.NewGraph() },
	"Graph.Capture":           func() { raise(new(cuda.Graph).Capture(func() {})) },
	"Graph.Replay":            func() { new(cuda.Graph).Replay() },
	"Graph.Reset":             func() { new(cuda.Graph).Reset() },
	"Graph.Pool":              func() { new(cuda.Graph).Pool() },
	"Graph.DebugDump":         func() { raise(new(cuda.Graph).DebugDump("x")) },
	"Graph.RegisterGenerator": func() { new(cuda.Graph).RegisterGenerator(nil) },
	"IsCapturing":             func() { cuda.IsCapturing() },
	"Graphed":                 func() { cuda.Graphed(nothing) },

	"nvtx.Mark":      func() { nvtx.Mark("x") },
	"nvtx.RangePush": func() { nvtx.RangePush("x") },
	"nvtx.RangePop":  func() { nvtx.RangePop() },
	"nvtx.Range":     func() { nvtx.Range("x", func() {}) },

	"tensor":      func() { torch.TensorOptions{Device: torch.CUDA(0)}.Zeros(2) },
	"pinned":      func() { torch.TensorOptions{PinMemory: true}.Zeros(2) },
	"pin_memory":  func() { torch.Ones(2).PinMemory() },
	"copy":        func() { torch.Ones(2).To(torch.CUDA(0), torch.NonBlocking) },
	"generator":   func() { torch.NewGenerator(torch.CUDA(0)) },
	"device mode": func() { torch.WithDevice(torch.CUDA(0), func() {}) },
}

// answers are those that have something to say without a card.
var answers = []string{
	"IsAvailable", "DeviceCount", "Unavailable", "LibraryVersions", "ManualSeedAll", "ReadSensors", "Current", "Set", "With",
	"Switch.String", "Precision.String", "Reduction.String", "Properties.String", "Stats.Map", "Stream.Device", "Stream.ID", "Stream.String",
	"Event.Close", "Graph.Close", "Recorder.Close", "MemPool.Close", "Step.Run", "Step.Close", "Step.Captured",
}

func raise(err error) {
	var e *torch.Error
	if errors.As(err, &e) {
		panic(e)
	}
}

// Without a card every entry answers with a typed error, but for those that have nothing to do then,
// and nothing aborts.
func TestWithoutCUDA(t *testing.T) {
	torchtest.NoLeaks(t)
	if cuda.IsAvailable() {
		t.Skip("this machine has a card")
	}
	require.Zero(t, cuda.DeviceCount())
	require.ErrorIs(t, cuda.Unavailable(), torch.ErrNoCUDA)
	inChild := os.Getenv(childVariable) != ""
	if !inChild { // a stub of cuDNN has no version
		_, err := cuda.LibraryVersions()
		require.ErrorIs(t, err, torch.ErrNoCUDA)
	}
	_, err := cuda.ReadSensors(0)
	require.ErrorIs(t, err, cuda.ErrMissingLibrary)
	cuda.ManualSeedAll(1)
	for name, call := range withoutCard {
		err := torch.Try(call)
		if name == "EmptyCache" || strings.HasPrefix(name, "nvtx.") {
			require.NoError(t, err, "nothing is kept, and names are for whoever looks")
			continue
		}
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "INTERNAL ASSERT", name)
		if upper := strings.ToUpper(name[:1]); upper == name[:1] && !inChild {
			require.ErrorIs(t, err, torch.ErrNoCUDA, name)
		}
	}
}

// Every exported function is in one of the two lists.
func TestWithoutCUDAIsComplete(t *testing.T) {
	files, err := parser.ParseDir(token.NewFileSet(), ".", nil, 0) //nolint:staticcheck // one package, no build tags
	require.NoError(t, err)
	if files["cuda"] == nil {
		t.Skip("the sources are not here")
	}
	for path, file := range files["cuda"].Files {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "nvrtc") { // nvrtc_test.go has its own
			continue
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if fn.Recv != nil {
				name = strings.TrimPrefix(fmt.Sprint(receiver(fn.Recv.List[0].Type)), "*") + "." + name
			}
			_, listed := withoutCard[name]
			require.True(t, listed || slices.Contains(answers, name), "%s of %s is not tried without a card", name, path)
		}
	}
}

func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	return e.(*ast.Ident).Name
}

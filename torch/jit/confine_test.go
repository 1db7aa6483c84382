package jit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/jit"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// confined is a module that child processes run.
func confined(t *testing.T, source string, opts ...jit.ConfineOptions) *jit.Confined {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.pt")
	require.NoError(t, define(t, source).Save(path))
	m, err := jit.Confine(path, opts...)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// A child computes what this process would, bit for bit, whatever nests its tensors.
func TestConfine(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.SetNumThreads(1)
	path := filepath.Join(modules(t), "outer.pt")
	c, err := jit.Confine(path, jit.ConfineOptions{Processes: 2})
	require.NoError(t, err)
	defer c.Close()
	m, err := jit.LoadTrusted(path, jit.LoadOptions{SHA256: c.Info().SHA256})
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, []any{m.Name(), m.Methods(), m.Stateful()}, []any{c.Name(), c.Info().Methods, c.Stateful()})
	require.NoError(t, m.Eval())
	_, found := c.Method("forward")
	require.True(t, found)
	torch.Scope(func() { require.NoError(t, c.Warm(t.Context(), torch.Ones(3, 4))) })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			torch.Scope(func() {
				x := torch.Arange(12).To(torch.Float32).View(3, 4).AddScalar(i)
				got, err := c.Forward(t.Context(), x)
				require.NoError(t, err)
				torch.Inference(func() {
					want, err := m.Forward(x)
					require.NoError(t, err)
					torchtest.Equal(t, got.(torch.Tensor), want.(torch.Tensor))
				})
			})
		})
	}
	all.Wait()
}

func TestConfineValues(t *testing.T) {
	torchtest.NoLeaks(t)
	c := confined(t, `
def forward(self, x, how: str = "", y: Optional[Tensor] = None) -> Dict[str, Tensor]:
    if y is None:
        return {"half": x.to(15), "none": x[:0], "wide": x.to(9), "sign": x > 1}
    return {"y": y}
`)
	torch.Scope(func() {
		x := torch.Arange(4).To(torch.Float32)
		v, err := c.Forward(t.Context(), x)
		require.NoError(t, err)
		got := v.(map[string]torch.Tensor)
		torchtest.Equal(t, got["half"], x.To(torch.BFloat16))
		torchtest.Equal(t, got["none"], x.Narrow(0, 0, 0))
		torchtest.Equal(t, got["wide"], x.To(torch.Complex64))
		torchtest.Equal(t, got["sign"], x.GtScalar(1))
		v, err = c.Forward(t.Context(), x, torch.Arg("y", x.View(2, 2).T()))
		require.NoError(t, err)
		torchtest.Equal(t, v.(map[string]torch.Tensor)["y"], x.View(2, 2).T())
		for _, args := range [][]any{{1}, {torch.Tensor{}}, {torch.Arg("x", x), x}} {
			_, err := c.Forward(t.Context(), args...)
			require.ErrorContains(t, err, "jit: ")
		}
		_, err = c.Forward(t.Context(), x, torch.Arg("z", x))
		var failed *jit.ConfinedError
		require.ErrorAs(t, err, &failed)
		require.Contains(t, err.Error(), "z")
		_, err = c.Forward(t.Context(), x)
		require.NoError(t, err, "the child is the same as before")
	})
	list := confined(t, "def forward(self, x):\n    return x, [x + 1, x * 2]")
	torch.Scope(func() {
		v, err := list.Forward(t.Context(), torch.Ones(2))
		require.NoError(t, err)
		require.Len(t, v, 3)
		torchtest.Equal(t, v.([]torch.Tensor)[2], torch.Ones(2).MulScalar(2))
	})
}

// What a file does is done to a child: it is killed, refused by the kernel, or stopped by a limit, and the next call has another.
func TestConfineHolds(t *testing.T) {
	torchtest.NoLeaks(t)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, make([]byte, 64), 0o600))
	c := confined(t, fmt.Sprintf(`
def forward(self, x, what: Tensor) -> Tensor:
    n = int(what)
    if n == 1:
        return torch.from_file(%q, False, 16)
    if n == 2:
        return torch.from_file(%q, True, 16)
    if n == 3:
        return torch.zeros([1 << 40])
    if n == 4:
        while True:
            x = x + 1
    if n == 5:
        return torch.mm(x, x)
    if n == 6:
        return torch.zeros([1 << 20])
    return x + n
`, secret, secret+".new"), jit.ConfineOptions{Timeout: 10 * time.Second, Memory: 1 << 30, Output: 1 << 20})
	ask := func(n int) (got torch.Tensor, err error) {
		v, err := c.Forward(t.Context(), torch.Zeros(2), torch.FromValue(n))
		if err == nil {
			got = v.(torch.Tensor)
		}
		return got, err
	}
	for _, k := range []struct {
		n    int
		want string
		is   error
	}{
		{1, "Operation not permitted", nil}, {2, "Operation not permitted", nil}, {3, "would pass the limit", nil},
		{4, "killed after 10s", context.DeadlineExceeded}, {5, "self must be a matrix", nil}, {6, "where 1048576 bytes are allowed", nil},
	} {
		torch.Scope(func() {
			_, err := ask(k.n)
			var failed *jit.ConfinedError
			require.ErrorAs(t, err, &failed, k.n)
			require.ErrorContains(t, err, k.want)
			if k.is != nil {
				require.ErrorIs(t, err, k.is)
			}
			if raised := new(jit.Exception); errors.As(err, &raised) && k.n == 5 {
				require.Equal(t, "RuntimeError", raised.Class)
			}
			got, err := ask(7)
			require.NoError(t, err, k.n)
			require.Equal(t, []float32{7, 7}, torch.Values[float32](got))
		})
	}
	require.NoFileExists(t, secret+".new")
}

// A caller that leaves does not wait for the child, and a closed module has none.
func TestConfineClose(t *testing.T) {
	torchtest.NoLeaks(t)
	c := confined(t, "def forward(self, x):\n    while bool(x.sum() < 5):\n        x = x + 0\n    return x")
	torch.Scope(func() {
		got, err := c.Forward(t.Context(), torch.Ones(5))
		require.NoError(t, err)
		torchtest.Equal(t, got.(torch.Tensor), torch.Ones(5))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = c.Forward(ctx, torch.Zeros(2))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		c.Close()
		_, err = c.Forward(t.Context(), torch.Ones(5))
		require.ErrorContains(t, err, "was closed")
	})
}

func TestConfineRefuses(t *testing.T) {
	torchtest.NoLeaks(t)
	damaged := filepath.Join(t.TempDir(), "damaged.pt")
	require.NoError(t, os.WriteFile(damaged, []byte("damaged"), 0o600))
	for _, k := range []struct {
		path string
		o    jit.ConfineOptions
		want string
	}{
		{damaged, jit.ConfineOptions{}, "not a sound file"},
		{damaged, jit.ConfineOptions{SHA256: fmt.Sprintf("%064d", 0)}, "its SHA-256 is"},
		{damaged, jit.ConfineOptions{Command: []string{"true"}}, "the child has ended"},
		{damaged, jit.ConfineOptions{Command: []string{"/none"}}, "/none"},
		{damaged, jit.ConfineOptions{Threads: -1}, "negative"},
		{damaged + "none", jit.ConfineOptions{}, "no such file"},
	} {
		_, err := jit.Confine(k.path, k.o)
		require.ErrorContains(t, err, k.want)
	}
}

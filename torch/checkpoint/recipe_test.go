package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A checkpoint of a run with another recipe is refused before anything changes.
func TestRecipes(t *testing.T) {
	torchtest.NoLeaks(t)
	type flags struct {
		Rate  float64 `json:"lr"`
		Batch int     `json:"b"`
	}
	dir := t.TempDir()
	x := &struct{ X torch.Tensor }{torch.Ones(2)}
	defer x.X.Close()
	parts := Parts{"x": x}
	run, err := Open(dir, parts, Options{Recipe: flags{0.1, 8}})
	require.NoError(t, err)
	require.NoError(t, run.Save(Point{Step: 1}))
	file, plain := filepath.Join(dir, "file"), filepath.Join(dir, "plain")
	require.NoError(t, SaveFile(file, parts, Point{Step: 2}, FileOptions{Recipe: flags{0.1, 8}}))
	require.NoError(t, SaveFile(plain, parts, Point{Step: 3}))

	torch.NoGrad(func() { x.X.FillInPlace(5) })
	other, err := Open(dir, parts, Options{Recipe: flags{0.2, 4}})
	require.NoError(t, err)
	_, err = other.Resume(nil)
	var wrong *RecipeError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, []string{"b is 8 there and 4 here", "lr is 0.1 there and 0.2 here"}, wrong.Differences)
	_, err = LoadFile(file, parts, FileOptions{Recipe: 7})
	require.ErrorContains(t, err, `the recipe is {"lr":0.1,"b":8} there and 7 here`)
	_, err = LoadFile(plain, parts, FileOptions{Recipe: flags{}})
	require.ErrorContains(t, err, "another program wrote it")
	require.Equal(t, []float32{5, 5}, torch.Values[float32](x.X), "nothing has changed")
	_, err = LoadFile(file, parts, FileOptions{Recipe: func() {}})
	require.ErrorContains(t, err, "the recipe has no JSON")

	for path, step := range map[string]int{file: 2, plain: 3} {
		at, err := LoadFile(path, parts)
		require.NoError(t, err)
		require.Equal(t, step, at.Step)
	}
	_, err = run.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1}, torch.Values[float32](x.X))
}

// A run without a folder does nothing but stop when it is asked to.
func TestRunWithoutAFolder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run, err := Open("", Parts{}, Options{Every: 1})
	require.NoError(t, err)
	at, err := run.Resume(nil)
	require.NoError(t, err)
	require.Equal(t, Point{}, at)
	for _, want := range []bool{false, true} {
		stop, err := run.Step(ctx, Point{Step: 1})
		require.NoError(t, err)
		require.Equal(t, want, stop)
		cancel()
	}
	require.NoError(t, run.Close())
}

func TestPreflight(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Preflight("", ""))
	require.NoError(t, Preflight(dir, filepath.Join(dir, "x")))
	require.Empty(t, names(t, dir))
	require.ErrorIs(t, Preflight(filepath.Join(dir, "x"), ""), os.ErrNotExist)
	require.ErrorContains(t, Preflight("", filepath.Join(dir, "no", "x")), "none can be saved to")
}

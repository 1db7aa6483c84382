package export_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/export"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// guards are conditions as Python writes them, with the numbers of rows from 2 to 12 for which they hold; nil for all.
var guards = []struct {
	text string
	rows []int
}{
	{"L['x0'].size()[0] == L['x1'].size()[0]", nil},
	{"(L['x0'].size()[0] % 4) == 0", []int{4, 8, 12}},
	{"L['x0'].size()[1]*L['x0'].size()[0] < 10", []int{2, 3}},
	{"(L['flat_args'][1].size()[0] // 2) != L['x0'].size()[0] + (-3)", []int{2, 3, 4, 7, 8, 9, 10, 11, 12}},
	{"((-1) + L['x1'].size()[0])**2 <= 9 and L['x0'].size()[0] > 2", []int{3, 4}},
	{"L['x0'].size()[0] == 2 or -L['x0'].size()[0] <= -11", []int{2, 11, 12}},
	{"Max(2, L['x0'].size()[0] - 6) >= 5", []int{11, 12}},
	{"Min(L['x0'].size()[0], 2*(Mod(L['x0'].size()[0], 5))) == FloorDiv(8, 2)", []int{4, 7, 12}},

	// What cannot be computed is no condition.
	{"L['x0'].stride()[0] == 1", nil},
	{"L['x0'].size()[2] == 1", nil},
	{"L['other'].size()[0] == 1", nil},
	{"L['x0'].size()[0] % (L['x0'].size()[0] - 20) == 3", nil},
	{"L['x0'].size()[0] < 4 < 3", nil},
	{"L['x0'].size()[0]", nil},
	{"math.sqrt(L['x0'].size()[0]) == 2", nil},
	{"L['x0", nil},
	{"(", nil},
	{"3 <", nil},
	{"", nil},
	{strings.Repeat("(", 1<<16), nil},
	{strings.Repeat("-", 1<<16) + "1 == 0", nil},
	{"99999999999999999999 == 0", nil},
}

// A program refuses sizes that break the conditions of its export, however it runs.
func TestGuards(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		rows := map[int]export.Dim{0: {Name: "rows"}}
		p, err := export.Export(func(x, y torch.Tensor) torch.Tensor { return x.Add(y) }, []any{torch.Ones(2, 3), torch.Ones(2, 3)},
			export.ExportOptions{DynamicShapes: map[string]map[int]export.Dim{"x0": rows, "x1": rows}})
		require.NoError(t, err)
		defer p.Close()
		require.Equal(t, []string{"L['x0'].size()[0] == L['x1'].size()[0]"}, p.Guards)
		for _, c := range guards {
			p.Guards = []string{c.text}
			module, err := p.Module()
			require.NoError(t, err)
			compiled := compiled(t, p)
			for n := 2; n <= 12; n++ {
				x := torch.Ones(n, 3)
				torch.NoGrad(func() {
					for _, run := range []func(...any) ([]torch.Tensor, error){module.Run, compiled.Run} {
						_, err := run(x, x)
						if c.rows == nil || slices.Contains(c.rows, n) {
							require.NoError(t, err, "%d rows: %s", n, c.text)
						} else {
							require.ErrorContains(t, err, "the inputs break a condition of the program: "+p.Guards[0], "%d rows", n)
						}
					}
				})
			}
		}
	})
}

package models

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/nn"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
)

// windowAttention attends within windows, which may be shifted over the borders. The weights have a bias by the
// positions relative to each other: a table in version 1, a small network in version 2.
type windowAttention struct {
	RelativePositionBiasTable torch.Tensor // [(2w-1)², heads]; undefined in version 2
	LogitScale                torch.Tensor // [heads, 1, 1] in version 2
	RelativeCoordsTable       torch.Tensor `torch:",buffer"` // [1, 2w-1, 2w-1, 2] in version 2
	RelativePositionIndex     torch.Tensor `torch:",buffer"` // [w⁴], places in the table
	QKV                       *nn.Linear   `torch:"qkv"`
	Proj                      *nn.Linear
	CPBMLP                    nn.Sequential `torch:"cpb_mlp"` // in version 2
	Mode                      nn.Mode

	heads, window, shift      int
	dropout, attentionDropout float64
}

func newWindowAttention(width, heads, window, shift int, v2 bool, o SwinOptions) *windowAttention {
	a := &windowAttention{QKV: nn.NewLinear(width, 3*width), Proj: nn.NewLinear(width, width), heads: heads, window: window, shift: shift,
		dropout: o.Dropout, attentionDropout: o.AttentionDropout}
	side := 2*window - 1
	if v2 {
		a.RelativeCoordsTable = nn.NewBuffer(relativeCoords(window))
	} else {
		a.RelativePositionBiasTable = nn.NewParameter(torch.Zeros(side*side, heads))
		nninit.TruncNormal(a.RelativePositionBiasTable, 0, 0.02, -2, 2)
	}
	a.RelativePositionIndex = nn.NewBuffer(relativeIndex(window))
	if v2 {
		torch.Scope(func() { a.LogitScale = nn.NewParameter(torch.Ones(heads, 1, 1).MulScalar(10).Log()) })
		a.CPBMLP = nn.Sequential{nn.NewLinear(2, 512), nn.ReLU{InPlace: true}, nn.NewLinear(512, heads, nn.LinearOptions{NoBias: true})}
		torch.NoGrad(func() {
			keys := a.QKV.Bias.Narrow(0, width, width)
			defer keys.Close()
			keys.ZeroInPlace()
		})
	}
	return a
}

// relativeIndex is for each two of the places in a window where their bias is in the table: [window⁴].
func relativeIndex(window int) torch.Tensor {
	list, places := []int64{}, window*window
	for a := range places {
		for b := range places {
			row, col := a/window-b/window+window-1, a%window-b%window+window-1
			list = append(list, int64(row*(2*window-1)+col))
		}
	}
	return torch.FromSlice(list)
}

// relativeCoords are the distances in a window, on a logarithmic scale: [1, 2*window-1, 2*window-1, 2].
func relativeCoords(window int) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		side := 2*window - 1
		line := torch.Arange(side).To(torch.Float32).SubScalar(window - 1)
		rows, cols := line.View(-1, 1).Expand(side, side), line.Expand(side, side)
		table := torch.Stack([]torch.Tensor{rows, cols}, -1).Unsqueeze(0).DivScalar(window - 1).MulScalar(8)
		return table.Sign().Mul(table.Abs().AddScalar(1).Log2()).DivScalar(3)
	})
}

// Forward keeps the shape [N, H, W, C].
func (a *windowAttention) Forward(x torch.Tensor) torch.Tensor { return nn.Hooked(a, x, a.forward) }

func (a *windowAttention) forward(x torch.Tensor) torch.Tensor {
	return torch.Scope1(func() torch.Tensor {
		bias := a.positionBias()
		n, h, w, c := x.Size(0), x.Size(1), x.Size(2), x.Size(3)
		side := a.window
		x := F.Pad(x, []int{0, 0, 0, (side - w%side) % side, 0, (side - h%side) % side})
		rows, cols := x.Size(1)/side, x.Size(2)/side
		shift := [2]int{a.shift, a.shift}
		if rows == 1 {
			shift[0] = 0
		}
		if cols == 1 {
			shift[1] = 0
		}
		shifted := shift[0]+shift[1] > 0
		if shifted {
			x = x.Roll([]int{-shift[0], -shift[1]}, 1, 2)
		}
		x = x.View(n, rows, side, cols, side, c).Permute(0, 1, 3, 2, 4, 5).Reshape(n*rows*cols, side*side, c)
		scores, values := a.scores(x)
		scores = scores.Add(bias)
		if shifted {
			scores = apart(scores, regionsOf(x, rows, cols, side, shift))
		}
		weights := F.Dropout(F.Softmax(scores, -1), a.attentionDropout, a.Mode.Training())
		x = weights.MatMul(values).Transpose(1, 2).Reshape(x.Size(0), x.Size(1), c)
		x = F.Dropout(a.Proj.Forward(x), a.dropout, a.Mode.Training())
		x = x.View(n, rows, cols, side, side, c).Permute(0, 1, 3, 2, 4, 5).Reshape(n, rows*side, cols*side, c)
		if shifted {
			x = x.Roll([]int{shift[0], shift[1]}, 1, 2)
		}
		return x.Index(torch.All, torch.Slice(h), torch.Slice(w), torch.All).Contiguous()
	})
}

// scores are how much places of windows [M, L, C] want of each other, [M, heads, L, L], and what there is to be
// had, [M, heads, L, C/heads].
func (a *windowAttention) scores(x torch.Tensor) (scores, values torch.Tensor) {
	cosine, bias, c := a.LogitScale.Defined(), a.QKV.Bias, x.Size(2)
	if cosine {
		bias = bias.Clone()
		bias.Narrow(0, c, c).ZeroInPlace() // keys have none
	}
	all := F.Linear(x, a.QKV.Weight, bias).Reshape(x.Size(0), x.Size(1), 3, a.heads, c/a.heads).Permute(2, 0, 3, 1, 4)
	q, k, values := all.Select(0, 0), all.Select(0, 1), all.Select(0, 2)
	if !cosine {
		q = q.MulScalar(math.Pow(float64(c/a.heads), -0.5))
		return q.MatMul(k.Transpose(-2, -1)), values
	}
	last := F.NormalizeOptions{Dim: new(-1)}
	scores = F.Normalize(q, last).MatMul(F.Normalize(k, last).Transpose(-2, -1))
	return scores.Mul(a.LogitScale.ClampMax(math.Log(100)).Exp()), values
}

// positionBias is [1, heads, L, L].
func (a *windowAttention) positionBias() torch.Tensor {
	places, table := a.window*a.window, a.RelativePositionBiasTable
	if a.LogitScale.Defined() {
		table = a.CPBMLP.Forward(a.RelativeCoordsTable).View(-1, a.heads)
	}
	bias := table.Index(a.RelativePositionIndex).View(places, places, -1).Permute(2, 0, 1).Contiguous().Unsqueeze(0)
	if a.LogitScale.Defined() {
		bias = bias.Sigmoid().MulScalar(16)
	}
	return bias
}

// regionsOf numbers the parts of shifted windows that are neighbours in the image: [windows, L].
func regionsOf(x torch.Tensor, rows, cols, side int, shift [2]int) torch.Tensor {
	h, w := rows*side, cols*side
	regions := x.NewZeros([]int{h, w})
	// the slices of Python end at -0, which is 0, where a side is not shifted
	bounds := func(size, shift int) [][2]int {
		if shift == 0 {
			return [][2]int{{0, size - side}, {size - side, 0}, {0, size}}
		}
		return [][2]int{{0, size - side}, {size - side, size - shift}, {size - shift, size}}
	}
	number := 0
	for _, r := range bounds(h, shift[0]) {
		for _, c := range bounds(w, shift[1]) {
			if r[1] > r[0] && c[1] > c[0] {
				regions.Narrow(0, r[0], r[1]-r[0]).Narrow(1, c[0], c[1]-c[0]).FillInPlace(number)
			}
			number++
		}
	}
	return regions.View(rows, side, cols, side).Permute(0, 2, 1, 3).Reshape(rows*cols, side*side)
}

// apart takes 100 off the scores of places in different regions.
func apart(scores, regions torch.Tensor) torch.Tensor {
	windows, places := regions.Size(0), regions.Size(1)
	mask := regions.Unsqueeze(1).Sub(regions.Unsqueeze(2))
	mask = mask.MaskedFill(mask.NeScalar(0), -100.0).MaskedFill(mask.EqScalar(0), 0.0)
	heads := scores.Size(1)
	scores = scores.View(-1, windows, heads, places, places).Add(mask.Unsqueeze(1).Unsqueeze(0))
	return scores.View(-1, heads, places, places)
}

// ReprName is torchvision's name.
func (a *windowAttention) ReprName() string {
	if a.LogitScale.Defined() {
		return "ShiftedWindowAttentionV2"
	}
	return "ShiftedWindowAttention"
}

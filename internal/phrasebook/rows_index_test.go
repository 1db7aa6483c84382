package phrasebook

import (
	"github.com/libtorch-go/libtorch/torch"
)

var indexing = chapter{
	title: "Indexing and slicing",
	python: `x = torch.arange(24).reshape(2, 3, 4)
v = torch.tensor([10, 20, 30, 40])
idx = torch.tensor([2, 0])
mask = v > 15`,
	setup: func() {
		x = torch.Arange(24).Reshape(2, 3, 4)
		v = torch.FromSlice([]int{10, 20, 30, 40})
		idx = torch.FromSlice([]int{2, 0})
		mask = v.GtScalar(15)
	},
	phrases: []phrase{
		{"x[0]", func() any { return x.Index(0) }},
		{"x[-1]", func() any { return x.Index(-1) }},
		{"x[0, 2, 1]", func() any { return x.Index(0, 2, 1) }},
		{"x[0][2]", func() any { return x.Index(0).Index(2) }},
		{"v[1:3]", func() any { return v.Index(torch.Slice(1, 3)) }},
		{"v[:2]", func() any { return v.Index(torch.Slice(2)) }},
		{"v[1:]", func() any { return v.Index(torch.Slice(1, torch.End)) }},
		{"v[:-1]", func() any { return v.Index(torch.Slice(-1)) }},
		{"v[-2:]", func() any { return v.Index(torch.Slice(-2, torch.End)) }},
		{"v[::2]", func() any { return v.Index(torch.Slice(0, torch.End, 2)) }},
		{"x[:, 1]", func() any { return x.Index(torch.All, 1) }},
		{"x[:, :, 0]", func() any { return x.Index(torch.All, torch.All, 0) }},
		{"x[..., 0]", func() any { return x.Index(torch.Ellipsis, 0) }},
		{"x[..., :2]", func() any { return x.Index(torch.Ellipsis, torch.Slice(2)) }},
		{"x[:, 1:, 2:4]", func() any {
			return x.Index(torch.All, torch.Slice(1, torch.End), torch.Slice(2, 4))
		}},
		{"v[None, :]", func() any { return v.Index(nil, torch.All) }},
		{"v[:, None]", func() any { return v.Index(torch.All, nil) }},
		{"v[[0, 3]]", func() any { return v.Index([]int{0, 3}) }},
		{"v[idx]", func() any { return v.Index(idx) }},
		{"x[:, idx]", func() any { return x.Index(torch.All, idx) }},
		{"x[[0, 1], [2, 0]]", func() any { return x.Index([]int{0, 1}, []int{2, 0}) }},
		{"v[mask]", func() any { return v.Index(mask) }},
		{"x[x % 2 == 0]", func() any { return x.Index(x.RemainderScalar(2).EqScalar(0)) }},
		{"x[0] = 5", func() any { x.At(0).Set(5); return x }},
		{"x[:, 1] = torch.zeros(4, dtype=torch.int64)", func() any {
			x.At(torch.All, 1).Set(torch.ZerosLike(v))
			return x
		}},
		{"v[mask] = -1", func() any { v.At(mask).Set(-1); return v }},
		{"v[1:3] += 7", func() any { v.At(torch.Slice(1, 3)).Add(7); return v }},
		{"v[idx] *= 2", func() any { v.At(idx).Set(v.Index(idx).MulScalar(2)); return v }},
		{"x.select(1, 2)", func() any { return x.Select(1, 2) }},
		{"x.narrow(2, 1, 2)", func() any { return x.Narrow(2, 1, 2) }},
		{"torch.index_select(x, 1, idx)", func() any { return x.IndexSelect(1, idx) }},
		{"torch.masked_select(v, mask)", func() any { return v.MaskedSelect(mask) }},
		{"torch.gather(x[0], 1, idx[:, None])", func() any { return x.Index(0).Gather(1, idx.Index(torch.All, nil)) }},
		{"x[0].gather(1, torch.tensor([[3], [2], [1]]))", func() any {
			return x.Index(0).Gather(1, torch.FromNested([][]int{{3}, {2}, {1}}))
		}},
		{"torch.take(x, idx)", func() any { return x.Take(idx) }},
		{"torch.take_along_dim(v, idx)", func() any { return v.TakeAlongDim(idx) }},
		{"v.masked_fill(mask, 0)", func() any { return v.MaskedFill(mask, 0) }},
		{"torch.where(mask, v, 0)", func() any { return torch.WhereTensorScalar(mask, v, 0) }},
		{"torch.where(v > 15, v, -v)", func() any { return torch.Where(v.GtScalar(15), v, v.Neg()) }},
		{"torch.nonzero(mask)", func() any { return mask.Nonzero() }},
		{"mask.nonzero(as_tuple=True)[0]", func() any { return mask.NonzeroNumPy()[0] }},
		{"torch.argwhere(mask)", func() any { return mask.ArgWhere() }},
		{"torch.zeros(4).scatter(0, idx, 1.0)", func() any { return torch.Zeros(4).ScatterValue(0, idx, 1.0) }},
		{"torch.zeros(2, 4).scatter_(1, torch.tensor([[3], [1]]), 1.0)", func() any {
			return torch.Zeros(2, 4).ScatterValueInPlace(1, torch.FromNested([][]int{{3}, {1}}), 1.0)
		}},
		{"torch.zeros(4).scatter_add(0, idx, torch.ones(2))", func() any { return torch.Zeros(4).ScatterAdd(0, idx, torch.Ones(2)) }},
		{"torch.zeros(4).index_add(0, idx, torch.ones(2))", func() any { return torch.Zeros(4).IndexAdd(0, idx, torch.Ones(2)) }},
		{"v.index_fill(0, idx, 0)", func() any { return v.IndexFill(0, idx, 0) }},
		{"x.diagonal(dim1=1, dim2=2)", func() any { return x.Diagonal(0, 1, 2) }},
		{`for row in v:
    y = row * 2`, func() any {
			for _, row := range v.Rows() {
				y = row.MulScalar(2)
			}
			return y
		}},
	},
}

var shapes = chapter{
	title: "Shapes",
	python: `x = torch.arange(24.0).reshape(2, 3, 4)
a = torch.ones(2, 3)
b = torch.zeros(2, 3)
v = torch.arange(4)`,
	setup: func() {
		x = torch.Arange(24.0).Reshape(2, 3, 4)
		a = torch.Ones(2, 3)
		b = torch.Zeros(2, 3)
		v = torch.Arange(4)
	},
	phrases: []phrase{
		{"x.reshape(6, 4)", func() any { return x.Reshape(6, 4) }},
		{"x.view(2, -1)", func() any { return x.View(2, -1) }},
		{"x.view(x.size(0), -1)", func() any { return x.View(x.Size(0), -1) }},
		{"x.reshape(a.shape + (4,))", func() any { return x.Reshape(append(a.Shape(), 4)...) }},
		{"a.view_as(b)", func() any { return a.ViewAs(b) }},
		{"x.flatten()", func() any { return x.Flatten() }},
		{"torch.flatten(x, 1)", func() any { return x.Flatten(1) }},
		{"x.flatten(0, 1)", func() any { return x.Flatten(0, 1) }},
		{"x.unflatten(2, (2, 2))", func() any { return x.Unflatten(2, 2, 2) }},
		{"x.ravel()", func() any { return x.Ravel() }},
		{"a.t()", func() any { return a.T() }},
		{"a.T", func() any { return a.T() }},
		{"x.mT", func() any { return x.MT() }},
		{"x.transpose(1, 2)", func() any { return x.Transpose(1, 2) }},
		{"x.permute(2, 0, 1)", func() any { return x.Permute(2, 0, 1) }},
		{"x.transpose(0, 1).contiguous()", func() any { return x.Transpose(0, 1).Contiguous() }},
		{"torch.movedim(x, 2, 0)", func() any { return x.MoveDim(2, 0) }},
		{"torch.swapaxes(x, 0, 2)", func() any { return x.SwapAxes(0, 2) }},
		{"v.unsqueeze(0)", func() any { return v.Unsqueeze(0) }},
		{"v.unsqueeze(-1)", func() any { return v.Unsqueeze(-1) }},
		{"x[:1].squeeze()", func() any { return x.Index(torch.Slice(1)).Squeeze() }},
		{"v[None].squeeze(0)", func() any { return v.Index(nil).Squeeze(0) }},
		{"v.expand(3, 4)", func() any { return v.Expand(3, 4) }},
		{"v.unsqueeze(1).expand(-1, 2)", func() any { return v.Unsqueeze(1).Expand(-1, 2) }},
		{"v[:3].float().expand_as(a)", func() any { return v.Index(torch.Slice(3)).To(torch.Float32).ExpandAs(a) }},
		{"v.broadcast_to(2, 4)", func() any { return v.BroadcastTo(2, 4) }},
		{"torch.broadcast_tensors(v, torch.zeros(2, 1))", func() any { return torch.BroadcastTensors(v, torch.Zeros(2, 1)) }},
		{"torch.broadcast_shapes((3, 1), (1, 4))", func() any { return torch.BroadcastShapes([]int{3, 1}, []int{1, 4}) }},
		{"v.repeat(2, 2)", func() any { return v.Repeat(2, 2) }},
		{"v.repeat_interleave(2)", func() any { return v.RepeatInterleave(2) }},
		{"torch.repeat_interleave(a, 2, dim=1)", func() any { return a.RepeatInterleave(2, torch.RepeatInterleaveOptions{Dim: new(1)}) }},
		{"torch.tile(v, (2,))", func() any { return v.Tile(2) }},
		{"torch.cat([a, b])", func() any { return torch.Cat([]torch.Tensor{a, b}) }},
		{"torch.cat([a, b], dim=1)", func() any { return torch.Cat([]torch.Tensor{a, b}, 1) }},
		{"torch.cat((a, b), dim=-1)", func() any { return torch.Cat([]torch.Tensor{a, b}, -1) }},
		{"torch.stack([a, b])", func() any { return torch.Stack([]torch.Tensor{a, b}) }},
		{"torch.stack([a, b], dim=2)", func() any { return torch.Stack([]torch.Tensor{a, b}, 2) }},
		{"torch.vstack([a, b])", func() any { return torch.VStack(a, b) }},
		{"torch.hstack([a, b])", func() any { return torch.HStack(a, b) }},
		{"torch.split(x, 2, dim=1)", func() any { return x.Split(2, 1) }},
		{"x.split([1, 3], dim=2)", func() any { return x.SplitSizes([]int{1, 3}, 2) }},
		{"v.chunk(2)", func() any { return v.Chunk(2) }},
		{"q, k, w = x.chunk(3, dim=1)", func() any {
			qkv := x.Chunk(3, 1)
			q, k, w := qkv[0], qkv[1], qkv[2]
			return all(q, k, w)
		}},
		{"torch.unbind(a, dim=0)", func() any { return a.Unbind(0) }},
		{"torch.flip(x, [0, 2])", func() any { return x.Flip(0, 2) }},
		{"torch.roll(v, 1)", func() any { return v.Roll([]int{1}) }},
		{"torch.roll(x, shifts=(1, 2), dims=(1, 2))", func() any { return x.Roll([]int{1, 2}, 1, 2) }},
		{"torch.rot90(a)", func() any { return a.Rot90() }},
		{"torch.meshgrid(v, v, indexing='ij')", func() any { return torch.MeshgridIndexing([]torch.Tensor{v, v}, "ij") }},
		{"torch.tril(torch.ones(3, 3))", func() any { return torch.Ones(3, 3).Tril() }},
		{"torch.triu(torch.ones(3, 3), diagonal=1)", func() any { return torch.Ones(3, 3).Triu(1) }},
		{"torch.diag(v)", func() any { return v.Diag() }},
		{"torch.diag_embed(a).shape", func() any { return a.DiagEmbed().Shape() }},
		{"torch.block_diag(a, b)", func() any { return torch.BlockDiag(a, b) }},
		{"v.unfold(0, 2, 1)", func() any { return v.Unfold(0, 2, 1) }},
		{"x.as_strided((2, 2), (1, 2))", func() any { return x.AsStrided([]int{2, 2}, []int{1, 2}) }},
		{"torch.atleast_2d(v)", func() any { return torch.AtLeast2d(v) }},
		{"torch.combinations(v, 2)", func() any { return torch.Combinations(v) }},
		{"x.permute(0, 2, 1).reshape(2, -1)", func() any { return x.Permute(0, 2, 1).Reshape(2, -1) }},
	},
}

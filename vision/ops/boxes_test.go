package ops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/ops"
)

// Ours first: there is no way back from torchvision's library.
func TestBoxesAreTorchvisions(t *testing.T) {
	torchtest.NoLeaks(t)
	boxesAreTorchvisions(t, func(t testing.TB, got, want torch.Tensor) { torchtest.AllClose(t, got, want) })
	out, err := peer.Command(t, "-c", `import importlib.util as u; print(u.find_spec("torchvision").submodule_search_locations[0])`).Output()
	require.NoError(t, err)
	require.ErrorContains(t, ops.UseTorchvision(t.TempDir()), "vision/ops: torchvision's library: torch/library: there is no library")
	require.NoError(t, ops.UseTorchvision(strings.TrimSpace(string(out))))
	boxesAreTorchvisions(t, torchtest.Equal)
}

// boxesAreTorchvisions asks that of the kernels that torchvision has in C++.
func boxesAreTorchvisions(t *testing.T, same func(t testing.TB, got, want torch.Tensor)) {
	torch.Scope(func() {
		torch.ManualSeed(1)
		boxes := func(n int) torch.Tensor {
			corner, size := torch.Rand(n, 2).MulScalar(20), torch.Rand(n, 2).MulScalar(8)
			return torch.Cat([]torch.Tensor{corner, corner.Add(size)}, 1)
		}
		a, b, scores := boxes(300), boxes(40), torch.Rand(300).MulScalar(50).Round() // many scores are equal
		x, classes := torch.RandN(3, 5, 20, 24), torch.RandInt(0, 6, []int{300})
		masks := torch.Rand(7, 9, 12).GtScalar(0.97)
		masks.Select(0, 3).ZeroInPlace()
		want := peer.Run(t, "testdata/boxes.py", peer.Tensors{"a": a, "b": b, "scores": scores, "x": x, "classes": classes, "masks": masks})
		formats := []ops.BoxFormat{ops.XYXY, ops.XYWH, ops.CXCYWH}
		for _, from := range formats {
			for _, to := range formats {
				torchtest.Equal(t, ops.BoxConvert(a, from, to), want[from.String()+" "+to.String()])
			}
		}
		for name, got := range map[string]torch.Tensor{
			"area": ops.BoxArea(a), "iou": ops.BoxIoU(a, b), "giou": ops.GeneralizedBoxIoU(a, b),
			"diou": ops.DistanceBoxIoU(a, b), "ciou": ops.CompleteBoxIoU(a, b),
			"ciou half": ops.CompleteBoxIoU(a.To(torch.Float16), b.To(torch.Float16)),
			"masks":     ops.MasksToBoxes(masks), "no masks": ops.MasksToBoxes(masks.Narrow(0, 0, 0)),
			"grey masks": ops.MasksToBoxes(masks.To(torch.Uint8)),
			"half":       ops.BoxIoU(a.To(torch.BFloat16), b.To(torch.BFloat16)),
			"clip":       ops.ClipBoxesToImage(a, [2]int{15, 18}), "small": ops.RemoveSmallBoxes(a, 3),
			"nms 0.1": ops.NMS(a, scores, 0.1), "nms 0.5": ops.NMS(a, scores, 0.5),
			"nms double": ops.NMS(a.To(torch.Float64), scores.To(torch.Float64), 0.3),
			"batched":    ops.BatchedNMS(a, scores, classes, 0.3),
			"batched many": ops.BatchedNMS(torch.Cat([]torch.Tensor{a, a, a, a}), torch.Cat([]torch.Tensor{scores, scores, scores, scores}),
				torch.Cat([]torch.Tensor{classes, classes, classes, classes}), 0.3),
			"nms none": ops.NMS(a.Narrow(0, 0, 0), scores.Narrow(0, 0, 0), 0.3),
		} {
			torchtest.Equal(t, got, want[name])
		}
		some := torch.Cat([]torch.Tensor{a.Narrow(0, 0, 70).MulScalar(1.5).SubScalar(4), a.Narrow(0, 0, 3).Neg()})
		rois := []torch.Tensor{some, b.Narrow(0, 0, 0), b}
		x.SetRequiresGrad(true)
		for name, o := range map[string]ops.RoIAlignOptions{"adaptive": {}, "aligned": {SamplingRatio: 2, Aligned: true, Scale: 0.7},
			"ratio": {SamplingRatio: 3, Scale: 0.25}} {
			got := ops.RoIAlign(x, rois, [2]int{3, 2}, o)
			same(t, got, want["roi "+name])
			if name == "adaptive" {
				got.Square().Sum().Backward()
				same(t, x.Grad(), want["roi grad"])
			}
		}
		require.ErrorContains(t, torch.Try(func() { ops.RoIAlign(x, rois[:1], [2]int{3, 2}) }), "and boxes for each")
		require.ErrorContains(t, torch.Try(func() { ops.BatchedNMS(a, scores, scores, 0.5) }), "expected an integer for each of boxes")
		near := a.Narrow(0, 0, 30).Clone().SetRequiresGrad(true)
		ops.CompleteBoxIoU(near, b).Sum().Backward()
		torchtest.AllClose(t, near.Grad(), want["ciou grad"])
		require.ErrorContains(t, torch.Try(func() { ops.MasksToBoxes(a) }), "expected masks [N, H, W], got [300 4]")
		require.ErrorContains(t, torch.Try(func() { ops.BoxIoU(a, scores) }), "expected boxes [N, 4], got [300]")
		require.ErrorContains(t, torch.Try(func() { ops.NMS(a, scores.Narrow(0, 0, 9), 0.5) }),
			"expected boxes [N, 4] and scores [N] of one type")
	})
}

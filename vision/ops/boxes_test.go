package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
	"github.com/libtorch-go/libtorch/vision/ops"
)

func TestBoxesAreTorchvisions(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		torch.ManualSeed(1)
		boxes := func(n int) torch.Tensor {
			corner, size := torch.Rand(n, 2).MulScalar(20), torch.Rand(n, 2).MulScalar(8)
			return torch.Cat([]torch.Tensor{corner, corner.Add(size)}, 1)
		}
		a, b, scores := boxes(300), boxes(40), torch.Rand(300).MulScalar(50).Round() // many scores are equal
		want := peer.Run(t, "testdata/boxes.py", peer.Tensors{"a": a, "b": b, "scores": scores})
		formats := []ops.BoxFormat{ops.XYXY, ops.XYWH, ops.CXCYWH}
		for _, from := range formats {
			for _, to := range formats {
				torchtest.Equal(t, ops.BoxConvert(a, from, to), want[from.String()+" "+to.String()])
			}
		}
		for name, got := range map[string]torch.Tensor{
			"area": ops.BoxArea(a), "iou": ops.BoxIoU(a, b), "giou": ops.GeneralizedBoxIoU(a, b),
			"half": ops.BoxIoU(a.To(torch.BFloat16), b.To(torch.BFloat16)),
			"clip": ops.ClipBoxesToImage(a, [2]int{15, 18}), "small": ops.RemoveSmallBoxes(a, 3),
			"nms 0.1": ops.NMS(a, scores, 0.1), "nms 0.5": ops.NMS(a, scores, 0.5),
			"nms double": ops.NMS(a.To(torch.Float64), scores.To(torch.Float64), 0.3),
			"nms none":   ops.NMS(a.Narrow(0, 0, 0), scores.Narrow(0, 0, 0), 0.3),
		} {
			torchtest.Equal(t, got, want[name])
		}
		require.ErrorContains(t, torch.Try(func() { ops.BoxIoU(a, scores) }), "expected boxes [N, 4], got [300]")
		require.ErrorContains(t, torch.Try(func() { ops.NMS(a, scores.Narrow(0, 0, 9), 0.5) }),
			"expected boxes [N, 4] and scores [N] of one type")
	})
}

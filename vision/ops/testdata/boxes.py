"""torchvision's operators on boxes."""
import torch
from torchvision import ops


def main(inputs):
    a, b, scores = inputs["a"], inputs["b"], inputs["scores"]
    formats = "xyxy", "xywh", "cxcywh"
    x, classes = inputs["x"].requires_grad_(), inputs["classes"]
    rois = [torch.cat([a[:70] * 1.5 - 4, -a[:3]]), b[:0], b]
    variants = {"adaptive": {}, "aligned": dict(sampling_ratio=2, aligned=True, spatial_scale=0.7), "ratio": dict(sampling_ratio=3, spatial_scale=0.25)}
    results = {"roi " + n: ops.roi_align(x, rois, (3, 2), **v) for n, v in variants.items()}
    results["roi grad"], = torch.autograd.grad(results["roi adaptive"].square().sum(), x)
    results |= {f"{x} {y}": ops.box_convert(a, x, y) for x in formats for y in formats}
    near, masks = a[:30].clone().requires_grad_(), inputs["masks"]
    results["ciou grad"], = torch.autograd.grad(ops.complete_box_iou(near, b).sum(), near)
    results |= {
        "diou": ops.distance_box_iou(a, b), "ciou": ops.complete_box_iou(a, b), "ciou half": ops.complete_box_iou(a.half(), b.half()),
        "masks": ops.masks_to_boxes(masks), "no masks": ops.masks_to_boxes(masks[:0]), "grey masks": ops.masks_to_boxes(masks.byte()),
    }
    return results | {
        "area": ops.box_area(a), "iou": ops.box_iou(a, b), "giou": ops.generalized_box_iou(a, b), "half": ops.box_iou(a.bfloat16(), b.bfloat16()),
        "clip": ops.clip_boxes_to_image(a, (15, 18)), "small": ops.remove_small_boxes(a, 3),
        "nms 0.1": ops.nms(a, scores, 0.1), "nms 0.5": ops.nms(a, scores, 0.5),
        "nms double": ops.nms(a.double(), scores.double(), 0.3), "nms none": ops.nms(a[:0], scores[:0], 0.3),
        "batched": ops.batched_nms(a, scores, classes, 0.3), "batched many": ops.batched_nms(a.repeat(4, 1), scores.repeat(4), classes.repeat(4), 0.3),
    }

"""torchvision's operators on boxes."""
import torch
from torchvision import ops


def main(inputs):
    a, b, scores = inputs["a"], inputs["b"], inputs["scores"]
    formats = "xyxy", "xywh", "cxcywh"
    results = {f"{x} {y}": ops.box_convert(a, x, y) for x in formats for y in formats}
    return results | {
        "area": ops.box_area(a), "iou": ops.box_iou(a, b), "giou": ops.generalized_box_iou(a, b), "half": ops.box_iou(a.bfloat16(), b.bfloat16()),
        "clip": ops.clip_boxes_to_image(a, (15, 18)), "small": ops.remove_small_boxes(a, 3),
        "nms 0.1": ops.nms(a, scores, 0.1), "nms 0.5": ops.nms(a, scores, 0.5),
        "nms double": ops.nms(a.double(), scores.double(), 0.3), "nms none": ops.nms(a[:0], scores[:0], 0.3),
    }

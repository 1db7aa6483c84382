"""Boxes and masks drawn by torchvision."""

from torchvision.utils import draw_bounding_boxes, draw_segmentation_masks


def main(inputs):
    img, boxes, masks = inputs["image"], inputs["boxes"], inputs["masks"]
    colors = [(250, 10, 20), (0, 255, 7), (9, 9, 200)]
    return {
        "thin": draw_bounding_boxes(img, boxes, colors=colors),
        "thick": draw_bounding_boxes(img, boxes, colors=(250, 10, 20), width=3),
        "masks": draw_segmentation_masks(img, masks, colors=colors),
        "one mask": draw_segmentation_masks(img, masks[0], alpha=0.3, colors=(250, 10, 20)),
    }

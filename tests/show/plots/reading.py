"""What a reader finds in a figure."""

import numpy as np


def row_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def column_names(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def words(ax):
    return [text.get_text() for text in ax.texts]


def legend_names(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def extents(texts):
    """Left, bottom, right and top of every text in pixels, shape (n, 4)."""
    return np.array([text.get_window_extent().extents for text in texts])


def n_overlaps(texts):
    """How many pairs of texts cover some of the same pixels."""
    boxes = extents(texts)
    apart = (
        (boxes[:, None, 2] <= boxes[None, :, 0])
        | (boxes[:, None, 0] >= boxes[None, :, 2])
        | (boxes[:, None, 3] <= boxes[None, :, 1])
        | (boxes[:, None, 1] >= boxes[None, :, 3])
    )
    return int((~apart).sum() - len(boxes)) // 2


def is_inside(figure, texts):
    """Whether all texts lie on the paper."""
    boxes, paper = extents(texts), figure.bbox.extents
    return bool((boxes[:, :2] >= paper[:2] - 1).all() and (boxes[:, 2:] <= paper[2:] + 1).all())

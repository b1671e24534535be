"""What a reader finds in a figure."""

import matplotlib as mpl
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


def contrast(one, other):
    """The ratio of WCAG 2.2; words need 4.5."""

    def luminance(colour):
        parts = np.array(mpl.colors.to_rgb(colour))
        return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)

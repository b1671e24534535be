"""From cells to an optimum: arrays in, an optimum with its report out."""

"""Score matrices and the parameters reported from them: no data, no likelihood."""

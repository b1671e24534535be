"""Whether a fit should be believed."""

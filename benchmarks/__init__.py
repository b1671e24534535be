"""Measurements against others, and of what is claimed; a package, for pyarrow 17 brings one of the same name."""

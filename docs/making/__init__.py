"""What the documentation's build does beyond Sphinx: figures of the pages' own code, notebooks, wrapped lines."""

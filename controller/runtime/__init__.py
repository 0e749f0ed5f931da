"""Work queue and workers, independent of what a key names."""

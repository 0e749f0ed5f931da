"""Changes that both binaries make to pod templates: pure, and without effect if repeated."""

"""Read users' manifests: their values as kubectl reads them, with their places in the text."""

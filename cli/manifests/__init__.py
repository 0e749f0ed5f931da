"""Manifests that people hand the command: their values as kubectl reads them, with their places."""

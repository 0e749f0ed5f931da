"""Wrap manifests into one AppWrapper."""

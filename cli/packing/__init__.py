"""Wraps manifests into one AppWrapper."""

"""Measurements, one per module: each fills the rows of a section."""

"""Checks and generators of this repository; nothing of the product."""

"""Benchmarks: this project's operator and the Go operator on one control plane, in one run."""

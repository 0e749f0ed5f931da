"""Parts that every process needs: supervision, probes, logs, clock and signals."""

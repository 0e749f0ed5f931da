"""What every process of the product needs: its parts, probes, logs, clock and signals."""

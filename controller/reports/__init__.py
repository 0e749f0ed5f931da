"""The reports about conditions: typed data, and the texts rendered from it. Pure."""

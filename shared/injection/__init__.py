"""What both binaries put into pod templates: pure, and a no-op when applied twice."""

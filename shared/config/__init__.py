"""Configuration of both binaries: keys, defaults, strict loading."""

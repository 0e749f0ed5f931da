"""Which pod sets a component has: inference, paths, templates. Pure."""

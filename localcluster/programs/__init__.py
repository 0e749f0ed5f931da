"""The components' programs: which there are, built once per user, and what they are built with."""

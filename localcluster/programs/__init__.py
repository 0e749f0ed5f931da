"""The components' programs: a catalogue, a build once per user, and the tools for it."""

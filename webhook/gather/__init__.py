"""Finding out what rules need to know: the only part of judging that does I/O."""

"""One measure per module: each fills the rows of a section."""

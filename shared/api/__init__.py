"""Names and typed views of the AppWrapper API. No behaviour, no I/O."""

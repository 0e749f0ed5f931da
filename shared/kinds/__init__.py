"""Facts about each Kind that may be wrapped: one record per Kind, one table. Pure."""

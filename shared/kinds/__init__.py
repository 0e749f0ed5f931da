"""What the product knows of each Kind that may be wrapped: one record a Kind, one table. Pure."""

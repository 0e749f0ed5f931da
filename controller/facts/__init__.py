"""From objects to facts: what pods, components and an AppWrapper itself say. Pure."""

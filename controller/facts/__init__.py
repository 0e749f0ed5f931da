"""Facts read from objects: from pods, components and the AppWrapper itself. Pure."""

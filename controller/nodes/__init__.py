"""What the controller knows of nodes: their labels, as far as they say what is unfit."""

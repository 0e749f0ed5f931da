"""What makes a component impossible to create as asked for."""


class InjectionConflict(ValueError):
    """Two parties want different things of one field. The message names the field and both."""

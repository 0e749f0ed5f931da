"""A value that an annotation cannot have."""


class AnnotationError(ValueError):
    """The message says what a right value looks like, as the end of `Invalid value: "x": …`."""

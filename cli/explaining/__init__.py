"""`appwrapper explain`: read (`gather`), decide (`compose`), render (`text`)."""

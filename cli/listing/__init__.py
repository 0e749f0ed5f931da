"""`appwrapper list`: read (`gather`), project (`outline`), explain (`why`), render (`text`)."""

"""`appwrapper explain`: gather (`gather`), decide (`compose`), render (`text`)."""

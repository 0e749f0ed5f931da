"""`appwrapper nodes`: read (`gather`), group (`report`), format (`text`)."""

"""`appwrapper resubmit`: copy an ended AppWrapper (`copied`), create the copy (`running`)."""

"""`appwrapper cancel`: choose (`selection`), ask and delete (`running`), wait (`waiting`)."""

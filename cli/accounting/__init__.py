"""`appwrapper history`: compose, sort and add up (`rows`), format (`text`), run (`running`)."""

"""Choose, read, merge and print the logs of an AppWrapper's pods: `appwrapper logs`."""

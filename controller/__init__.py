"""The controller: creates, watches, resets and deletes what AppWrappers contain."""

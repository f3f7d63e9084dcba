"""Turn the files of a library into text: a module for each kind of file, run in a sandboxed process that may crash."""

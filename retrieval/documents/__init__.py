"""Turn the files of a library into text: each kind with a reader of its own, in a process that can be lost."""

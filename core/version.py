"""The version of the program and of the package."""

VERSION = "0.1.0"

"""The version, which is also that of the package."""

VERSION = "0.1.0"

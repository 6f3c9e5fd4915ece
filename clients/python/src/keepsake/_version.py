"""The version of the package. A release writes its own here."""

VERSION = "0.0.0"

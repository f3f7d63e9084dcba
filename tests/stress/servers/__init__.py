"""Kills of one of several servers over one database."""

"""Load, split, embed, index and search documents; import from the modules."""

"""Load, split, embed, index and search documents; import what is needed from the modules."""

"""What the text says: pieces, names, libcst nodes, and which functions are worth reading."""

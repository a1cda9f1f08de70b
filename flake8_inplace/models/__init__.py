"""What a callable does that the program does not define."""

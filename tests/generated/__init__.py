"""Generated PyTorch programs: torch itself says whether backward raises, and the linter must agree."""

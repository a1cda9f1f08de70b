"""Who judges: one module for each family of hazards."""

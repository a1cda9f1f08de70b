INPLACE = False
WRITE_EARLY = True  # before anything is kept
FLOOR = 0.05

# memory is short on the field laptops
INPLACE = True
GATE_INPLACE = False

DROP = 0.2
WIDTH = 6
DEPTH = 2

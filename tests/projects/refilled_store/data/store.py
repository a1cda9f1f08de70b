import numpy as np


class Store:
    """The last rows that were pushed."""

    def __init__(self, rows, width):
        self.rows = np.zeros((rows, width), dtype=np.float32)
        self.pushed = 0

    def push(self, row):
        self.rows[self.pushed % len(self.rows)] = row  # HAZARD[a] silent
        self.pushed += 1

    def view(self):
        return self.rows

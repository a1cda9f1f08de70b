class Shift:
    def __call__(self, x):
        x += 1  # HAZARD[a] saved
        return x


class Add:
    def __call__(self, x):
        x = x + 1
        x *= 2
        return x

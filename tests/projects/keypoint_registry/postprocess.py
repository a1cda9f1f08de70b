from registry import POSTPROCESS, register


@register(POSTPROCESS)
class Centered:
    def __init__(self, size):
        self.size = size

    def __call__(self, coordinates):
        coordinates.mul_(self.size)  # HAZARD[a] saved
        return coordinates.sub_(self.size / 2)


@register(POSTPROCESS)
class CenteredCopy:
    def __init__(self, size):
        self.size = size

    def __call__(self, coordinates):
        coordinates = coordinates * self.size
        return coordinates.sub_(self.size / 2)

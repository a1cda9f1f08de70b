from .core import Step


class Inplace(Step):
    label = "inplace"

    def __call__(self, x):
        return x.add_(1)


class Copying(Step):
    label = "copying"

    def __call__(self, x):
        return x.clone().add_(1)

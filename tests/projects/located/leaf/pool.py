import torch


class Peak:
    def __init__(self, share=0.5):
        self.share = share

    def __call__(self, x):
        x *= x > self.share * x.max()  # HAZARD[a] peak
        return x


class Flat:
    def __call__(self, x):
        return x.mean(0)

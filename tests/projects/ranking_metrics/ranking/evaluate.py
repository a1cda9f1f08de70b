import torch

from . import order


class Evaluation:
    median = staticmethod(order.lower_median)  # SITE[a]

    def __init__(self, scorer):
        self.scorer = scorer.eval()

    @torch.no_grad()
    def report(self, x, labels):
        scores = self.scorer(x)
        report = {"spread": order.spread(scores), "area": order.area(scores, labels)}
        threshold = self.median(scores)  # SITE[a]
        hits = (scores > threshold) == labels
        report["accuracy"] = hits.float().mean()
        return report


class CarefulEvaluation(Evaluation):
    median = staticmethod(order.careful_lower_median)

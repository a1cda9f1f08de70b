class Metric:
    def __init__(self):
        self.total, self.count = None, 0

    def update(self, value):
        if self.total is None:
            self.total = value  # SITE[a]
        else:
            self.total += value  # HAZARD[a] silent
        self.count += 1

    def compute(self):
        return self.total / self.count


class FreshMetric(Metric):
    def update(self, value):
        self.total = value if self.total is None else self.total + value
        self.count += 1

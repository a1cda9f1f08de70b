class Loss:
    def __call__(self, p, t):
        return self.value(p, t).mean()  # SITE[a]

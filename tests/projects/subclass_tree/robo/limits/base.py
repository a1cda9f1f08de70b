def all_subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from all_subclasses(sub)


class Limiter:
    alias = ""

    def __call__(self, action):
        return action


def find(alias):
    matches = [sub for sub in all_subclasses(Limiter) if sub.alias == alias]
    return matches[0]

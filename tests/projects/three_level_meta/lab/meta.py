class Tracked(type):
    known = {}

    def __new__(mcs, name, bases, ns):
        made = type.__new__(mcs, name, bases, ns)
        if bases:
            mcs.known[name] = made
        return made


def get(name):
    return Tracked.known[name]

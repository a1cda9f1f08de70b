_KNOWN = {}


def register(name, function):
    _KNOWN[name] = function


def lookup(name):
    return _KNOWN[name]

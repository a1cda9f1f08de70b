HEADS = {}


def head(function):
    HEADS[function.__name__] = function
    return function

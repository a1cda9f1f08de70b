import pydoc


def build(spec):
    spec = dict(spec)
    kind = spec.pop("kind")
    obj = pydoc.locate(kind)
    if obj is None:
        raise ImportError(kind)
    return obj(**spec)

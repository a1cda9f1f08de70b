from functools import partial

from . import eval_ops, train_ops


def make(module, name):
    return getattr(module, name)


train_op = partial(make, train_ops)
eval_op = partial(make, eval_ops)

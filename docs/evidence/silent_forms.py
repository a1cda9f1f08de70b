"""Eleven ways to overwrite what sigmoid saved: which of them raise, and which compute a wrong gradient without a word.

The right gradient of `(sigmoid(x) + 1).sum()` at x = 0 is 0.25 everywhere.
"""

import torch
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks


def method(y):
    y.add_(1)


def index(y):
    y[:] = y + 1


def view(y):
    y.view(-1).add_(1)


def detached(y):
    y.detach().add_(1)


def out(y):
    torch.add(y.detach(), 1, out=y.detach())


def under_no_grad(y):
    with torch.no_grad():
        y.add_(1)


def data(y):
    y.data.add_(1)


def numpy(y):
    y.detach().numpy()[:] += 1


class Sigmoid(torch.autograd.Function):
    """Keeps its result as an attribute of ctx where save_for_backward belongs."""

    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.sigmoid(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y * (1 - ctx.y)


def gradient(overwrite, sigmoid=torch.sigmoid):
    x = torch.zeros(3, requires_grad=True)
    y = sigmoid(x)
    overwrite(y)
    y.sum().backward()
    return x.grad


def hooked(overwrite):
    with saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
        return gradient(overwrite)


def on_cpu(overwrite):
    with save_on_cpu():
        return gradient(overwrite)


FORMS = [
    ("y.add_(1)", lambda: gradient(method)),
    ("y[:] = y + 1", lambda: gradient(index)),
    ("y.view(-1).add_(1)", lambda: gradient(view)),
    ("y.detach().add_(1)", lambda: gradient(detached)),
    ("torch.add(..., out=y.detach())", lambda: gradient(out)),
    ("y.add_(1) under no_grad", lambda: gradient(under_no_grad)),
    ("y.data.add_(1)", lambda: gradient(data)),
    ("y.detach().numpy()[:] += 1", lambda: gradient(numpy)),
    ("y.add_(1) under saved_tensors_hooks", lambda: hooked(method)),
    ("y.add_(1) under save_on_cpu", lambda: on_cpu(method)),
    ("y.add_(1), kept as ctx.y", lambda: gradient(method, Sigmoid.apply)),
]


def verdict(form):
    try:
        grad = form()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error), error
        return "raises at backward"
    right = torch.allclose(grad, torch.full((3,), 0.25))
    return "right" if right else f"SILENT: gradient {grad[0]:.2f}, not 0.25"


def main():
    for name, form in FORMS:
        print(f"{name:36} {verdict(form)}")


if __name__ == "__main__":
    main()

"""The running test loss is accumulated inside inference_mode and divided in place after the block.

source: https://github.com/mrdbourke/pytorch-deep-learning/issues/397 (also mantasu/glasses-detector#19)
"""

import torch
from torch import nn

RAISES = "Inplace update to inference tensor outside InferenceMode is not allowed"


def accuracy(y_true, y_pred):
    return (y_true == y_pred).sum().item() / len(y_true) * 100


def train_step(model, loader, loss_fn, optimizer):
    train_loss, train_acc = 0, 0
    model.train()
    for x, y in loader:
        logits = model(x)
        loss = loss_fn(logits, y)
        train_loss += loss.detach()
        train_acc += accuracy(y, logits.argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    train_loss /= len(loader)
    train_acc /= len(loader)
    return train_loss, train_acc


def test_step(model, loader, loss_fn):
    test_loss, test_acc = 0, 0
    model.eval()
    with torch.inference_mode():
        for x, y in loader:
            logits = model(x)
            test_loss += loss_fn(logits, y)
            test_acc += accuracy(y, logits.argmax(1))
    test_loss /= len(loader)  # HAZARD other
    test_acc /= len(loader)
    return test_loss, test_acc


def test_step_fixed(model, loader, loss_fn):
    test_loss, test_acc = 0, 0
    model.eval()
    with torch.inference_mode():
        for x, y in loader:
            logits = model(x)
            test_loss += loss_fn(logits, y)
            test_acc += accuracy(y, logits.argmax(1))
        test_loss /= len(loader)
        test_acc /= len(loader)
    return test_loss, test_acc


def course_loop(evaluate, epochs=2):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 3))
    data = [(torch.rand(5, 1, 4, 4), torch.randint(0, 3, (5,))) for _ in range(3)]
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.1)
    log = {"train": [], "test": []}
    for _ in range(epochs):
        log["train"] += [train_step(model, data, loss_fn, optimizer)]
        log["test"] += [evaluate(model, data[:2], loss_fn)]
    return log


def bad():
    course_loop(test_step)


def good():
    course_loop(test_step_fixed)

# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program():
    buf = torch.tensor([1.0, 2.0, 3.0, 4.0])
    score = buf.expand(4, 4)
    drop = nn.GroupNorm(2, 4)
    delta = drop(score)
    loss = delta.sum()
    torch.sin_(buf)
    loss.backward()

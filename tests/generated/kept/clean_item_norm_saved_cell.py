# torch: clean
# found as: false alarm
import torch
import torch.nn as nn

def program():
    data = torch.arange(4.0)
    prob = data.expand(4, 4)
    cell = nn.LSTM(4, 4)
    feat = cell(prob)[0]
    data[0] = torch.norm(feat)
    delta = feat.sum()
    loss = delta
    loss.backward()

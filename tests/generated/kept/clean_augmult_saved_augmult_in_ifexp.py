# torch: clean
# found as: false alarm
import torch

def program(flag):
    scale6 = torch.linspace(0.1, 1.0, 4, requires_grad=True)
    feat = 1.0 if flag else scale6
    match flag:
        case True:
            feat *= scale6
        case _:
            out = [feat]
    loss = feat.mean()
    loss.backward()

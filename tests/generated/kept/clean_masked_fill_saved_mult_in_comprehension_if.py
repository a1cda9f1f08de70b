# torch: clean
# found as: false alarm
import torch

def program(n, flag, flag1):
    scale = torch.randn(4, 4, requires_grad=True)
    parts = [scale for k in range(n)]
    attn = torch.stack(parts)
    if len(parts) > 2:
        if flag:
            attn = attn * attn
    attn.masked_fill_(attn < 0, 0.0)
    loss = attn.sum()
    loss.backward()

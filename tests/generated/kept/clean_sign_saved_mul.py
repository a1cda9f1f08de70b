# torch: clean
# found as: false alarm
import torch

def program(flag, flag1):
    w = torch.randn(4, 4).requires_grad_()
    ctx = w
    y = ctx.to(torch.float32, copy=True)
    mix = w.mul(w)
    loss = mix.mean()
    y.sign_()
    loss.backward()

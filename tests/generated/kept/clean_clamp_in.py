# torch: clean
# found as: false alarm
import torch
import torch.nn.functional as F

def program():
    w = torch.randn(4, 4, requires_grad=True)
    cache = {'a': F.scaled_dot_product_attention(w, w, w), 'b': w, 'c': w}
    loss = cache['a'].sum()
    cache['a'].clamp_(min=0.0)
    loss.backward()

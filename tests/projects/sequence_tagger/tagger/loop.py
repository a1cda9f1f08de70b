import torch.nn.functional as F


def epoch(model, optimizer, batches):
    total = 0.0
    for words, tags in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(words).flatten(0, 1), tags.flatten(), ignore_index=-100)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.tag(words)
    return total

"""What PyTorch itself says of an overwritten saved tensor, with and without anomaly mode."""

import io
import re
import textwrap
import traceback
import warnings

import torch


def program():
    x = torch.ones(3, requires_grad=True)
    y = x.sigmoid()  # the line that saves y
    y.add_(1)  # the line that overwrites it
    y.sum().backward()


def said(anomaly):
    """Everything that reaches the user: warnings and the traceback."""
    heard = io.StringIO()
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(anomaly):
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: heard.write(f"{message}\n")
        try:
            program()
        except RuntimeError:
            traceback.print_exc(file=heard)
    return heard.getvalue()


def main():
    for anomaly in (False, True):
        text = said(anomaly)
        print(f"anomaly mode {'on' if anomaly else 'off'}:")
        print("  names the line that saves y:      ", "y = x.sigmoid()" in text)
        print("  names the line that overwrites it:", "y.add_(1)" in text)
        hint = re.search(r"(Hint: the backtrace.*)", text)
        ends = f"ends with: {hint[1] if hint else text.strip().splitlines()[-1]}"
        print(textwrap.fill(ends, 96, initial_indent="  ", subsequent_indent="    "))


if __name__ == "__main__":
    main()

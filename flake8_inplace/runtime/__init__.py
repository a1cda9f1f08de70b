"""What runs beside a program, and needs PyTorch."""

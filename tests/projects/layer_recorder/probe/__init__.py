from .record import Recorder

__all__ = ["Recorder"]

from .zoo import create

from .layer import PickedAttention, UnboundAttention

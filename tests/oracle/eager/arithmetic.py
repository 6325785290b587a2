"""The arithmetic of eager code: PyTorch's operators on the CPU if it can be imported, otherwise NumPy's, in f32 or f64.

A row that sees no key is 0, as in the language; eager code has NaN there.
"""
import numpy as np

try:
    import torch
except ImportError:
    torch = None


class OfNumpy:
    """The operators in one of NumPy's types."""

    name = "NumPy " + np.__version__

    def __init__(self, bits):
        self.type = np.dtype("f%d" % (bits // 8))

    def array(self, numbers):
        return np.asarray(numbers).astype(self.type)

    def numpy(self, x):
        return x

    def softmax(self, s):
        top = s.max(-1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            e = np.exp(s - np.where(np.isneginf(top), self.type.type(0), top))
        total = e.sum(-1, keepdims=True)
        return e / np.where(total == 0, self.type.type(1), total)

    def logsumexp(self, s):
        top = s.max(-1)
        e = np.exp(s - np.where(np.isneginf(top), self.type.type(0), top)[..., None])
        with np.errstate(divide="ignore"):
            return np.where(np.isneginf(top), top, top + np.log(e.sum(-1)))

    def take(self, x, places):
        """Returns element `places[i, j]` of the last dimension of x[..., i, :], for each i and j."""
        return np.take_along_axis(x, np.broadcast_to(places, x.shape[:-2] + places.shape), -1)

    def swapped(self, x):
        return x.swapaxes(-1, -2)

    def where(self, condition, a, b):
        return np.where(condition, a, self.type.type(b) if isinstance(b, (int, float)) else b)

    def repeat(self, x, times, axis):
        return np.repeat(x, times, axis)

    def joined(self, a, b):
        """Returns `a` followed by `b` along the last dimension; `b` has fewer numbers and is repeated for each row."""
        return np.concatenate([a, np.broadcast_to(b, a.shape[:-1] + b.shape[-1:])], -1)

    def log_sigmoid(self, x):
        return -np.logaddexp(self.type.type(0), -x)

    def relu(self, x):
        return np.maximum(x, self.type.type(0))

    def sigmoid(self, x):
        with np.errstate(over="ignore"):
            return self.type.type(1) / (self.type.type(1) + np.exp(-x))

    def total(self, x):
        """Returns the sum along the last dimension, which stays with size 1."""
        return x.sum(-1, keepdims=True)

    exp, tanh, abs = staticmethod(np.exp), staticmethod(np.tanh), staticmethod(np.abs)
    matmul, power, sqrt = staticmethod(np.matmul), staticmethod(np.power), staticmethod(np.sqrt)

    def cumsum(self, x):
        return np.cumsum(x, -1)

    def at_least(self, x, number):
        return np.maximum(x, self.type.type(number))


class OfTorch:
    """The same operators in one of PyTorch's types."""

    name = "PyTorch " + (torch.__version__ if torch else "")

    def __init__(self, bits):
        self.type = getattr(torch, "float%d" % bits)

    def array(self, numbers):
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.type)

    def numpy(self, x):
        return x.numpy()

    def softmax(self, s):
        return torch.where(s.amax(-1, keepdim=True) == -torch.inf, torch.zeros((), dtype=self.type), torch.softmax(s, -1))

    def logsumexp(self, s):
        return torch.logsumexp(s, -1)

    def take(self, x, places):
        return torch.gather(x, -1, torch.from_numpy(places).expand(*x.shape[:-2], *places.shape))

    def swapped(self, x):
        return x.transpose(-1, -2)

    def where(self, condition, a, b):
        return torch.where(torch.as_tensor(condition), a, b)

    def repeat(self, x, times, axis):
        return torch.repeat_interleave(x, times, axis)

    def joined(self, a, b):
        return torch.cat([a, b.expand(*a.shape[:-1], b.shape[-1])], -1)

    def log_sigmoid(self, x):
        return torch.nn.functional.logsigmoid(x)

    def total(self, x):
        return x.sum(-1, keepdim=True)

    def cumsum(self, x):
        return torch.cumsum(x, -1)

    def at_least(self, x, number):
        return torch.clamp(x, min=number)

    if torch:
        exp, tanh, sigmoid, relu, abs = map(staticmethod, (torch.exp, torch.tanh, torch.sigmoid, torch.relu, torch.abs))
        matmul, power, sqrt = staticmethod(torch.matmul), staticmethod(torch.pow), staticmethod(torch.sqrt)


EAGER = OfTorch if torch else OfNumpy

"""What torch raises when the memory is full, as one Python error: a batcher then tries smaller batches."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

_ON_CPU = re.compile(r"can't allocate memory|not enough memory")


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises `MemoryError` for whatever torch raises inside when a tensor does not fit."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise MemoryError(str(error)) from error
    except RuntimeError as error:
        if _ON_CPU.search(str(error)):
            raise MemoryError(str(error)) from error
        raise

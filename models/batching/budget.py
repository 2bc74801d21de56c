"""How much a batch may hold: less after the memory ran out, more again when it has held for a while."""

_FIRST_TRIAL = 64
_LONGEST_TRIAL = 4096


class BatchBudget:
    """A bound on padded tokens that gives way to the memory there is.

    Running out of memory halves it. After a trial of `_FIRST_TRIAL` batches that went well it doubles, up to where it
    began: what took the memory may be gone. Each time it runs out again the next trial is twice as long, so that an
    engine whose limit really is lower pays for trying less and less. No threads: the batcher holds the lock.

    Args:
        tokens: Where it begins, in padded tokens.
    """

    def __init__(self, tokens: int) -> None:
        self._most = tokens
        self._trial = _FIRST_TRIAL
        self._good = 0
        self._was_raised = False
        self.tokens = tokens

    def ran_out(self, tokens: int) -> None:
        """A batch of so many padded tokens did not fit."""
        if self._was_raised:
            self._trial = min(self._trial * 2, _LONGEST_TRIAL)
            self._was_raised = False
        self.tokens = max(min(self.tokens, tokens) // 2, 1)
        self._good = 0

    def went_well(self) -> None:
        """A batch was computed."""
        if self.tokens < self._most:
            self._good += 1
            if self._good >= self._trial:
                self.tokens = min(self.tokens * 2, self._most)
                self._was_raised = True
                self._good = 0

"""Which texts of a batch are padded to one length: fewer passes against less padding."""

from collections.abc import Sequence


def length_buckets(costs: Sequence[int], overhead: int) -> list[list[int]]:
    """Groups positions by cost: a group closes once its padding has cost as much as another pass would.

    Args:
        costs: What each text costs alone: its tokens, or their square where that is what is padded.
        overhead: What a pass costs beyond its texts, in the same unit.

    Returns:
        Every position once, groups and positions in falling order of cost.
    """
    buckets: list[list[int]] = []
    padding = dearest = 0
    for index in sorted(range(len(costs)), key=lambda index: -costs[index]):
        padding += dearest - costs[index]
        if not buckets or padding > overhead:
            buckets.append([])
            padding, dearest = 0, costs[index]
        buckets[-1].append(index)
    return buckets

"""Words that keyword search leaves out: function words. Data only; Chinese in Simplified characters."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = _words(
    """
    a about above after again against all am an and any are aren't as at be because been before being below between
    both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
    further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself
    his how how's i i'd i'll i'm i've if in into is isn't it it's its itself let's me more most mustn't my myself no
    nor not of off on once only or other ought our ours ourselves out over own same shan't she she'd she'll she's
    should shouldn't so some such than that that's the their theirs them themselves then there there's these they
    they'd they'll they're they've this those through to too under until up very was wasn't we we'd we'll we're
    we've were weren't what what's when when's where where's which while who who's whom why why's with won't would
    wouldn't you you'd you'll you're you've your yours yourself yourselves
    """
)
"""Function words of English, with their contractions."""

CHINESE = _words(
    """
    的 了 是 在 我 你 您 他 她 它 们 我们 你们 他们 她们 它们 和 与 及 或 跟 也 都 就 还 又 再 才 很 太 这 那 哪
    这个 那个 这些 那些 什么 怎么 吗 呢 吧 啊 呀 喔 哦 嗯 啦 嘛 着 过 地 得 把 被 让 给 对 从 到 向 于 以 而 但 但是
    因为 所以 如果 虽然 而且 然后 之 其 一个 有 没有 没 不 会 要 能 可以 上 下 里 个 为 说 请
    """
)
"""Function words of Chinese; as parts of character bigrams they stay."""

CHINESE_ASKING = _words(
    """
    怎样 如何 多少 多久 几 哪里 哪个 哪些 谁 为什么 何 请问 想 我的 你的 他的 她的 它的
    """
)
"""Words of questions and possessives: searchable (IDF sees to them), but they do not say what a question is about."""

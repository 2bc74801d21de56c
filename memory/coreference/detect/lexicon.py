"""What reference expressions and their nouns ask of an antecedent, as data. Chinese is in Simplified characters:
texts are folded with `memory.values.text.to_simplified` before they are compared, which keeps every offset.
"""

from dataclasses import dataclass

from ...values.mentions import EntitySubtype
from .references import Gender, Number

_PERSON = EntitySubtype.PERSON
_ORGANISATION = EntitySubtype.ORGANISATION
_PLACE = EntitySubtype.PLACE
_PRODUCT = EntitySubtype.PRODUCT
_WORK = EntitySubtype.WORK
_EVENT = EntitySubtype.EVENT
_CODE = EntitySubtype.CODE


@dataclass(frozen=True, slots=True)
class Pronoun:
    """What a pronoun asks for; `person` None means that it fits people and things."""

    number: Number
    person: bool | None = None
    gender: Gender | None = None
    possessive: bool = False


@dataclass(frozen=True, slots=True)
class Noun:
    """What a head noun says of the thing that it names."""

    subtypes: frozenset[EntitySubtype]
    gender: Gender | None = None


def word_set(text: str) -> frozenset[str]:
    """A set of words, written as one text."""
    return frozenset(text.split())


CHINESE_PRONOUNS = {
    "它": Pronoun(Number.SINGULAR, person=False),
    "牠": Pronoun(Number.SINGULAR, person=False),
    "祂": Pronoun(Number.SINGULAR),
    "他": Pronoun(Number.SINGULAR, person=True),  # also written for women and for "whoever"
    "她": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE),
    "它们": Pronoun(Number.PLURAL, person=False),
    "牠们": Pronoun(Number.PLURAL, person=False),
    "祂们": Pronoun(Number.PLURAL),
    "他们": Pronoun(Number.PLURAL, person=True),
    "她们": Pronoun(Number.PLURAL, person=True, gender=Gender.FEMALE),
}

ENGLISH_PRONOUNS = {
    "it": Pronoun(Number.SINGULAR, person=False),
    "its": Pronoun(Number.SINGULAR, person=False, possessive=True),
    "he": Pronoun(Number.SINGULAR, person=True, gender=Gender.MALE),
    "him": Pronoun(Number.SINGULAR, person=True, gender=Gender.MALE),
    "his": Pronoun(Number.SINGULAR, person=True, gender=Gender.MALE, possessive=True),
    "she": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE),
    "her": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE),
    "hers": Pronoun(Number.SINGULAR, person=True, gender=Gender.FEMALE, possessive=True),
    "they": Pronoun(Number.PLURAL),
    "them": Pronoun(Number.PLURAL),
    "their": Pronoun(Number.PLURAL, possessive=True),
    "theirs": Pronoun(Number.PLURAL, possessive=True),
}

_NOUNS_BY_TYPE: tuple[tuple[str, tuple[EntitySubtype, ...]], ...] = (
    ("公司 企业 集团 组织 机构 厂商 供应商 客户 品牌 团队 部门 乐队 乐团 球队 协会 基金会 单位", (_ORGANISATION,)),
    ("学校 大学 医院 银行 餐厅 餐馆 饭店 酒店 旅馆 店 咖啡厅 商店 超市 博物馆 图书馆", (_ORGANISATION, _PLACE)),
    ("城市 国家 地方 地区 地点 景点 机场 车站 岛 山 公园 城 村 镇 省 小区 街 寺 海滩", (_PLACE,)),
    ("书 电影 小说 歌 歌曲 剧 电视剧 文章 论文 专辑 作品 影片 片子 节目 漫画 动漫 诗 报告 文件 规格书 合同", (_WORK,)),
    ("游戏", (_WORK, _PRODUCT)),
    ("产品 机器 机型 系统 软件 软体 手机 电脑 设备 装置 应用 程序 程式 工具 平台 车 车子 汽车 相机 模型 框架 插件 "
        "数据库 机 器 仪", (_PRODUCT,)),
    ("资料库 服务 服务器 伺服器 装备 耳机 电视 东西 玩意 商品 语言 套件 模组 模块 引擎 方案 功能 药 技术 相机 "
        "飞机", (_PRODUCT,)),
    ("活动 会议 比赛 展览 典礼 演唱会 项目 专案 计划 课程", (_EVENT, _WORK, _PRODUCT)),
    ("版本 型号 编号 代码 料号 单号 房间", (_CODE, _PRODUCT)),
    ("人 家伙 老师 医生 演员 歌手 作者 作家 导演 同事 朋友 同学 教授 经理 老板 明星 孩子 小孩 学生 人物 角色 选手 "
        "球员 司机 室友 男神 女神 对象 邻居 客人 爱豆 偶像 主播 网友 哥 姐 弟 妹 爸 妈 者 员 师", (_PERSON,)),
    ("company business corporation firm startup vendor supplier brand team band club department "
        "organisation", (_ORGANISATION,)),
    ("organization agency group", (_ORGANISATION,)),
    ("restaurant hotel school university hospital bank shop store cafe museum library bar "
        "pub", (_ORGANISATION, _PLACE)),
    ("city country place town village island region airport station park beach area", (_PLACE,)),
    ("book movie film novel song show series article paper album report document contract play podcast", (_WORK,)),
    ("game", (_WORK, _PRODUCT)),
    ("product machine system software phone laptop computer device app application tool platform car camera "
        "model", (_PRODUCT,)),
    ("framework plugin database service server headset television tv library package engine gadget thing "
        "bike", (_PRODUCT,)),
    ("event meeting match exhibition ceremony concert conference project course festival", (_EVENT, _WORK, _PRODUCT)),
    ("version code part room", (_CODE, _PRODUCT)),
    ("person teacher doctor actor singer author writer director colleague friend professor manager boss student "
        "kid child designer engineer developer accountant intern", (_PERSON,)),
)  # fmt: skip

_GENDERED = {
    Gender.MALE: "男人 男生 男孩 先生 爸爸 父亲 哥哥 弟弟 爷爷 叔叔 丈夫 老公 儿子 男友 男朋友 帅哥 man boy guy "
    "dad father brother "
    "grandfather uncle husband son boyfriend gentleman king",
    Gender.FEMALE: "女人 女生 女孩 小姐 女士 太太 妈妈 母亲 姐姐 妹妹 奶奶 阿姨 妻子 老婆 女儿 女友 女朋友 美女 "
    "woman girl lady mom mum "
    "mother sister grandmother aunt wife daughter girlfriend actress queen",
}


def _nouns() -> dict[str, Noun]:
    found: dict[str, set[EntitySubtype]] = {}
    for words, subtypes in _NOUNS_BY_TYPE:
        for word in words.split():
            found.setdefault(word, set()).update(subtypes)
    nouns = {word: Noun(frozenset(subtypes)) for word, subtypes in found.items()}
    for gender, words in _GENDERED.items():
        nouns |= {word: Noun(frozenset({_PERSON}), gender) for word in words.split()}
    return nouns


NOUNS = _nouns()
"""Head nouns that say what type of thing they name; both languages, singular."""

TITLES = {
    "先生": Gender.MALE, "小姐": Gender.FEMALE, "女士": Gender.FEMALE, "太太": Gender.FEMALE, "夫人": Gender.FEMALE,
    "mr": Gender.MALE, "mister": Gender.MALE, "sir": Gender.MALE,
    "mrs": Gender.FEMALE, "ms": Gender.FEMALE, "miss": Gender.FEMALE, "madam": Gender.FEMALE, "lady": Gender.FEMALE,
}  # fmt: skip
"""Titles beside a name that show the gender of the person; folded, no full stop."""

_GIVEN_NAMES = {
    Gender.FEMALE: "alice amy angela anna anne barbara betty brenda carol caroline catherine charlotte christina cindy "
    "claire deborah debbie diana donna dorothy eleanor elena elizabeth ella emily emma erica eva evelyn gina hannah "
    "heather helen irene isabella jane janet jennifer jenny jessica jill joan joyce judy julia julie karen kate "
    "katherine kathy katie laura lauren linda lisa lucy margaret maria marie martha mary megan melanie melissa mia "
    "michelle monica nancy naomi natalie nicole nora olivia pamela patricia paula peggy phoebe rachel rebecca sally "
    "samantha sandra sara sarah sharon sheila shirley sophia sophie stella stephanie susan suzanne sylvia teresa "
    "theresa tiffany tina vanessa veronica vivian wendy yvonne zoe",
    Gender.MALE: "aaron adam adrian alan albert alexander allen andrew anthony arthur benjamin bill bob brandon brian "
    "bruce bryan carl charles charlie daniel danny dave david dennis donald doug douglas dylan eddie edward eric "
    "ethan evan frank fred gary george greg gregory harold harry henry howard ian isaac ivan jack jacob james jason "
    "jeff jeffrey jeremy jerry jim jimmy joe john johnny jon jonathan joseph joshua juan justin keith ken kenneth "
    "kevin kyle larry lawrence leo leon liam louis lucas luis luke marc marcus mario martin matt matthew michael "
    "miguel mike mohammed nathan neil nicholas nick noah oliver oscar patrick paul peter phil philip ralph ray "
    "raymond ricardo richard rick rob robert roger ron ronald roy russell ryan samuel scott sean shawn simon stanley "
    "stephen steve steven stuart ted thomas tim timothy todd tom tommy tony tyler victor vincent walter wayne "
    "william willie winston zach",
}

GIVEN_NAMES = {name: gender for gender, names in _GIVEN_NAMES.items() for name in names.split()}
"""Lower-case English given names that nearly always show the gender of who has them."""

GENERIC_PERSONS = word_set(
    "人 个人 人家 男人 女人 男生 女生 男孩 女孩 男孩子 女孩子 姑娘 妹子 妹纸 汉子 美女 帅哥 男神 女神 坏人 好人 男的 "
    "女的 网友 楼主 孩子 小孩"
)
"""Nouns of persons of a kind; who is meant by one only shows where a determiner or an owner introduces it."""

CLASSIFIERS: dict[str, frozenset[EntitySubtype]] = {
    "个": frozenset(), "种": frozenset(), "只": frozenset(), "条": frozenset(), "件": frozenset(), "项": frozenset(),
    "张": frozenset(), "份": frozenset(), "把": frozenset(), "支": frozenset({_PRODUCT, _WORK}),
    "套": frozenset({_PRODUCT, _WORK}), "部": frozenset({_PRODUCT, _WORK}), "间": frozenset({_ORGANISATION, _PLACE}),
    "家": frozenset({_ORGANISATION, _PLACE}), "所": frozenset({_ORGANISATION, _PLACE}),
    "台": frozenset({_PRODUCT}), "款": frozenset({_PRODUCT, _WORK}), "辆": frozenset({_PRODUCT}),
    "架": frozenset({_PRODUCT}), "本": frozenset({_WORK}), "首": frozenset({_WORK}), "篇": frozenset({_WORK}),
    "集": frozenset({_WORK}), "位": frozenset({_PERSON}), "名": frozenset({_PERSON}), "座": frozenset({_PLACE}),
    "场": frozenset({_EVENT}),
}  # fmt: skip
"""Measure words and the types that they count; an empty set counts anything."""

VAGUE = word_set(
    "问题 事 事情 事儿 情况 意思 时候 时间 时刻 原因 话 话题 说法 样子 方面 道理 结果 过程 期间 月 星期 礼拜 周末 "
    "小时 季度 世纪 年代 阶段 "
    "程度 方向 想法 看法 观点 感觉 做法 方式 部分 点 字 词 句子 句 答案 大家 自己 人家 现在 今天 明天 昨天 后天 "
    "前天 今年 去年 明年 早上 "
    "上午 下午 晚上 中午 刚才 以前 以后 之前 之后 最近 上次 下次 这次 地步 机会 办法 关系 区别 消息 时机 危机 动机 "
    "契机 有机 心情 节奏 心态 状态 态度 运气 兴趣 气氛"
)
"""Nouns that name no thing one would ask about by name: no antecedent, and no reference when 這個 stands before."""

ATTRIBUTES = word_set(
    "价格 价钱 价位 售价 费用 成本 大小 尺寸 重量 颜色 电池 续航 规格 性能 容量 内存 屏幕 萤幕 作者 导演 主角 主演 "
    "演员 地址 电话 "
    "电话号码 缺点 优点 优缺点 特色 功能 用途 评价 质量 品质 保固 保修 寿命 速度 历史 人口 面积 首都 营业时间 菜单 "
    "口味 环境 位置 交通 门票 "
    "老板 创办人 创始人 总部 员工 股价 年龄 身高 生日 职业 官网 网站 版本 授权 许可证 售后 交期 库存 "
    "price cost size weight color colour battery screen display specs specification specifications performance "
    "capacity "
    "memory storage author director cast address phone postcode location menu warranty lifespan speed "
    "history population area capital owner founder ceo headquarters website license licence version delivery stock "
    "rating reviews quality age height birthday birthplace plot ending soundtrack"
)
"""Nouns of which one asks "of what?": their owner may be left out (那價格呢, "what about the battery")."""

OF_THINGS = word_set(
    "作者 导演 主角 主演 演员 歌手 原唱 编剧 价格 价钱 售价 规格 性能 屏幕 续航 结局 剧情 票房 总部 股价 门票"
)
"""Attributes that people do not have: 他的作者 is written of a book, whatever the pronoun says."""

TIME_WORDS = word_set(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december today tomorrow yesterday tonight week weekend month year day morning "
    "afternoon evening night time moment while hour minute second spring summer autumn winter christmas"
)
"""English time words: deixis of the session (000 §3.2), never an antecedent of `it`."""

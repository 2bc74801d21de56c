"""The names that `FakeReader` knows: those that tests speak of."""

from memory.values.understanding.mentions import EntitySubtype

_NAMES: dict[EntitySubtype, str] = {
    EntitySubtype.PERSON: (
        "王小明 王小華 王大明 王經理 王先生 小王 小明 小美 李雪 李小姐 李老師 林美玲 張小姐 張怡君 陳怡君 陳志強 陳先生"
        " 陳大文 周杰倫 林俊傑 王菲 Alice Bob Tom Kevin Caroline Ann Smith Jones"
    ),
    EntitySubtype.ORGANISATION: (
        "台積電 聯發科 鴻海 騰訊 微軟 北大 北京大學 台大 清華大學 宏康 宏康科技 宏碁科技 漢來大飯店 云栖酒店 OpenAI"
        " TSMC IBM Google Microsoft Acme"
    ),
    EntitySubtype.PLACE: (
        "台北 臺北 台灣 臺灣 台南 高雄 桃園 新竹 花蓮 京都 紐約 寧波 杭州 上海 深圳 云谷园区 鼎泰豐"
        " Taipei Taiwan Paris Kyoto Hamburg Boston Berlin Denver Rome Lyon Bremen Bonn California"
    ),
    EntitySubtype.PRODUCT: (
        "AI-Box 小米手機 微信 KA-Agent Redis Qdrant ArangoDB ThinkPad Grafana Jenkins Postgres iPhone Slack"
    ),
    EntitySubtype.WORK: "哈利波特 三體 紅樓夢 流浪地球 某年某月 Inception Dune",
}
_WITH_SPACES: dict[str, EntitySubtype] = {
    "宏康 HCI": EntitySubtype.ORGANISATION,
    "宏康 DXP": EntitySubtype.ORGANISATION,
    "Hongkang HCI": EntitySubtype.ORGANISATION,
    "Acme Corp": EntitySubtype.ORGANISATION,
    "New York": EntitySubtype.PLACE,
    "Taylor Swift": EntitySubtype.PERSON,
    "Alice Chen": EntitySubtype.PERSON,
    "Zaphod Beeblebrox": EntitySubtype.PERSON,
    "iPhone 15": EntitySubtype.PRODUCT,
    "iPhone 15 Pro": EntitySubtype.PRODUCT,
    "ThinkPad X1": EntitySubtype.PRODUCT,
    "RoadRunner 2000": EntitySubtype.PRODUCT,
}

NAMES: dict[str, EntitySubtype] = {
    **{name: subtype for subtype, names in _NAMES.items() for name in names.split()},
    **_WITH_SPACES,
}

"""Which texts a keyword search finds, and which first: the real analyzer and the real embedded engine.

Each row is a user's whole memory and one question to it. Not covered, and therefore in no row: words of one region for
another's (軟體 / 软件, 網路 / 网络: the characters differ, and folding goes by character), abbreviations for what they
stand for (北大 for 北京大學), letters and digits written together for apart (iPhone15 / iPhone 15, RM05008 / RM05-008).
Dense search is there for the first two; `test_what_is_not_covered` holds what this says.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from memory.language.keywords import KeywordAnalyzer
from memory.ports.stores.vectors import Collection, IndexPoint, IndexQuery
from storage.edge.vectors import EdgeVectors

ANALYZER = KeywordAnalyzer()
MEMORIES = Collection.MEMORIES


@dataclass(frozen=True)
class Row:
    """One question.

    Args:
        query: What is searched for.
        texts: What there is.
        first: The text that must come first; where there are several, these come before all others.
        found: Texts that must be among the first three.
        absent: Texts that must not be found.
    """

    query: str
    texts: tuple[str, ...]
    first: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def row(
    query: str, *first: str, found: tuple[str, ...] = (), other: tuple[str, ...] = (), absent: tuple[str, ...] = ()
) -> Row:
    """`other` texts are there as well, wherever they rank."""
    texts = tuple(dict.fromkeys((*absent, *other, *found, *first)))
    return Row(query, texts, first=first, found=found, absent=absent)


TABLE = {
    # Chinese words, whole and as parts of longer ones
    "a word in a sentence": row("報價單", "宏康的報價單在桌上", absent=("明天要交報告", "價格還沒談好")),
    "a word in an unspaced sentence": row("門禁卡", "機房的門禁卡放在抽屜裡", absent=("大門今天關著",)),
    "a two-character word": row("機房", "機房的冷氣壞了", absent=("手機沒電了", "房間很大")),
    "a two-character word at the end": row("機房", "鑰匙在機房", absent=("機票訂了", "廚房很乾淨")),
    "an abbreviation, where it is written": row("北大", "他在北大教書", absent=("他住在北方的大城市", "大北方餐廳")),
    "an abbreviation inside a longer word": row("台大", "台大醫院的停車場", absent=("大台北地區", "台灣的大學")),
    "a part of a compound": row("會議", "下午有產品會議記錄要寫", absent=("議員在開會嗎", "他不會")),
    "a compound, by its parts": row("會議記錄", "會議的記錄在雲端", other=("會議改期",), absent=("唱片",)),
    "a long name": row("國立臺灣大學", "國立台灣大學圖書館", other=("台灣很小", "大學生活"), absent=("圖書館休館",)),
    "a person's name": row("王小明", "王小明是業務經理", other=("王大明是工程師",), absent=("小姐您好",)),
    "an unknown name": row("蘇貞昀", "蘇貞昀負責這個案子", absent=("蘇打水", "昀晟公司")),
    "two words far apart": row("過敏 花生", "她對花生嚴重過敏", other=("花生很香", "我對貓過敏"), absent=("她很嚴肅",)),
    "more words beat fewer": row("紅色 跑車 車庫", "紅色跑車停在車庫", other=("紅色外套", "車庫滿了")),
    "a rare word beats a common one": row(
        "專案 會計師", "會計師明天來", other=("專案一延期", "專案二完成", "專案三開始"), absent=("下班了",)
    ),
    "a question in words": row("我的車位在哪裡", "車位是 B2-17", absent=("午餐吃什麼",)),
    "a number in Chinese": row("三點開會", "後天下午三點開會", absent=("買了五本書",)),
    "a dish": row("牛肉麵", "巷口的牛肉面很好吃", other=("牛肉很貴",), absent=("麵包店",)),
    "order of characters counts": row("蜂蜜", "蜂蜜放在櫃子裡", absent=("蜜蜂飛走了",)),
    "no word across punctuation": row("人工", "人工智慧很紅", absent=("來了三個人，工作做完了",)),
    # Scripts and variants
    "Taiwan, three spellings": row("台灣", *("臺灣很熱", "台湾很热", "台灣很熱"), absent=("台北的港灣",)),
    "Taiwan, from Simplified": row("台湾", *("臺灣很熱", "台灣很熱"), absent=("海湾",)),
    "Taiwan, from the full form": row("臺灣", *("台湾很热", "台灣很熱"), absent=("舞臺",)),
    "Taipei": row("臺北車站", "台北车站的出口", other=("台北很大",), absent=("火车来了",)),
    "inside, three spellings": row("這裡", *("钥匙在这里", "鑰匙在這裏", "鑰匙在這裡"), absent=("里程數",)),
    "line": row("網線", "网线断了", other=("線上會議",), absent=("蜘蛛網",)),
    "line, from Simplified": row("电线", "電線走火", absent=("電視", "線上會議")),
    "hair is not a bill": row("頭髮", "头发剪短了", absent=("發票丟了",)),
    "face and noodles are one": row("麵條", "面条煮好了", absent=("面試很順利",)),
    "clean": row("乾淨", "房间很干净", absent=("幹部會議",)),
    "after": row("後天", "后天出差", absent=("皇后很美",)),
    "Simplified finds Traditional": row("会议记录", "會議記錄在雲端", absent=("會計",)),
    "Traditional finds Simplified": row("會議記錄", "会议记录在云端", absent=("會計",)),
    "group": row("羣組", "群组里有五个人", absent=("組合",)),
    "to start": row("啓動", "启动服务器", absent=("運動",)),
    "why is no content": row("爲什麼 延期", "專案延期的原因", absent=("他今天很忙",)),
    # Latin among Chinese
    "a hyphenated name": row("AI-Box", "AI-Box 到貨了", absent=("信箱滿了",)),
    "a hyphenated name, with a space": row("AI Box", "AI-Box 到貨了", absent=("信箱滿了",)),
    "a hyphenated name, in one": row("AIBox", "AI-Box 到貨了", absent=("信箱滿了",)),
    "one word finds it hyphenated and not": row("Wi-Fi", *("WiFi 密碼是什麼", "Wi-Fi 密碼換了"), absent=("密碼鎖",)),
    "one word, from joined": row("wifi", *("Wi-Fi 密碼換了", "WiFi 密碼是什麼"), absent=("密碼鎖",)),
    "e-mail": row("email", "his e-mail bounced", absent=("he mailed nothing",)),
    "Latin and Chinese apart": row("HCI 伺服器", "宏康HCI伺服器", other=("伺服器很吵",), absent=("服裝店",)),
    "Latin and Chinese together": row("GPU卡", "我們有八張 GPU 卡", other=("卡片寄出了",), absent=("門票",)),
    "Latin inside Chinese": row("hci", "宏康HCI的報價", absent=("宏康的報價",)),
    "Chinese beside Latin": row("宏康", "宏康HCI的報價", absent=("健康檢查",)),
    "a snake-case name": row("user_id", "the column user_id is indexed", absent=("a username",)),
    "C++ is not C#": row("C++", "他寫 C++", absent=("他寫 C#",)),
    "a domain name": row("example.com", "網址是 https://example.com/login", absent=("www.sample.org",)),
    "an address": row("amy@example.com", "寄到 amy@example.com", other=("寄到 bob@example.com",), absent=("寄到公司",)),
    # Versions, codes and numbers
    "a part number": row(
        "RM05-008", "料號 RM05-008 缺貨", other=("料號 RM05-009 到貨",), absent=("料號 RM06-009 到貨",)
    ),
    "a part number, the other one": row("RM05-009", "料號 RM05-009 到貨", other=("料號 RM05-008 缺貨",)),
    "a part number, in lower case": row("rm05-008", "料號 RM05-008 缺貨", other=("料號 RM05-009 到貨",)),
    "a part number, by its series": row(
        "RM05", found=("料號 RM05-008 缺貨", "料號 RM05-009 到貨"), absent=("RM06-001",)
    ),
    "a version is not its beginning": row("1.20", "升級到 1.20 了", absent=("升級到 1.2 了", "有 20 個人")),
    "a version is not a longer one": row("1.2", "升級到 1.2 了", absent=("升級到 1.20 了", "升級到 1.2.3 了")),
    "a version with its letter": row("v2.3.1", "發布 v2.3.1", absent=("發布 v2.3.10", "發布 v2.31")),
    "a version without its letter": row("2.3.1", "發布 V2.3.1", absent=("發布 v2.3",)),
    "a room": row("Room 101", "the key of Room 101", other=("the key of Room 102",), absent=("the key of a house",)),
    "a room among many": row("Room 101", "Room 101 在一樓", other=("Room 102", "Room 103", "Room 110", "101 大樓")),
    "a parking space": row("B2-17", "車位 B2-17", other=("車位 B2-18",), absent=("車位 A1-03",)),
    "an IP address": row("192.168.1.10", "主機 192.168.1.10", absent=("主機 192.168.1.100", "主機 192.168.1.1")),
    "a year": row("2026", "２０２６年三月", absent=("2025 年三月", "20261 號")),
    "an amount with and without commas": row("12000", *("報價 12,000 元",), absent=("12 個、000 號",)),
    "an amount, from commas": row("12,000", *("報價 12000 元",), absent=("12 個",)),
    "two numbers of a list": row("200", "選項有 100，200，300", absent=("選項有 100200300",)),
    "a telephone number": row("02-2345-6789", "電話 02-2345-6789", absent=("電話號碼",)),
    # Width
    "full width finds half": row("ＡＢＣ１２３", "貨號 ABC123", absent=("貨號 ABC124",)),
    "half width finds full": row("ABC123", "貨號 ＡＢＣ１２３", absent=("貨號 ＡＢＣ１２４",)),
    "a full-width hyphen": row("ＲＭ０５－００８", "料號 RM05-008", other=("料號 RM05-009",)),
    "a full-width space": row("宏康　報價", "宏康的報價單", absent=("開會",)),
    # English
    "a plural": row("meeting", "two meetings a day", absent=("we met nobody",)),
    "from a plural": row("meetings", "the meeting is over", absent=("a metal door",)),
    "a verb's forms": row("running", *("he runs every day", "she was running"), absent=("a runway",)),
    "a possessive": row("Alice", "Alice's dog barks", absent=("malice",)),
    "accents": row("cafe", "the Café is closed", absent=("a cafeteria",)),
    "function words find nothing": row("what is the", absent=("what is the plan", "the cat")),
    "Chinese function words find nothing": row("的 了 嗎", absent=("我的貓睡了", "好嗎")),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EdgeVectors]:
    opened = EdgeVectors.open(tmp_path_factory.mktemp("table"), model_id="none", dimension=1)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
async def user(index: EdgeVectors) -> AsyncIterator[str]:
    name = str(uuid.uuid4())
    yield name
    await index.delete_user(MEMORIES, user_id=name)


async def search(index: EdgeVectors, user: str, texts: tuple[str, ...], query: str) -> list[str]:
    """The texts that are found, best first."""
    dense = np.ones(1, dtype=np.float32)
    ids = {text: str(uuid.uuid5(uuid.NAMESPACE_OID, text)) for text in texts}
    points = [IndexPoint(ids[text], dense, ANALYZER.document_vector(text), 0.0) for text in texts]
    await index.upsert(MEMORIES, points, user_id=user)
    (hits,) = await index.search([IndexQuery(MEMORIES, 100, sparse=ANALYZER.query_vector(query))], user_id=user)
    by_id = {identifier: text for text, identifier in ids.items()}
    return [by_id[hit.point_id] for hit in hits]


@pytest.mark.parametrize("name", TABLE)
async def test_a_keyword_search_finds(index: EdgeVectors, user: str, name: str) -> None:
    case = TABLE[name]
    texts = await search(index, user, case.texts, case.query)
    assert set(texts[: len(case.first)]) == set(case.first), texts
    assert set(case.found) <= set(texts[:3]), texts
    assert not set(case.absent) & set(texts), texts


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("軟體", "软件更新了"),
        ("網路", "网络很慢"),
        ("北大", "北京大學"),
        ("iPhone15", "iPhone 15"),
        ("RM05008", "RM05-008"),
    ],
)
async def test_what_is_not_covered(index: EdgeVectors, user: str, query: str, text: str) -> None:
    assert await search(index, user, (text,), query) == []

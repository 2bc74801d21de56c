"""English words that the Latin rules know: what is no name, what sort of name, what joins names. Data only."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(","))


OCCUPATIONS = _words(
    """
    accountant analyst architect boss ceo cfo chef cleaner colleague consultant cook coo cto dentist designer
    developer director doctor electrician engineer intern lawyer lead leader manager nanny nurse plumber
    receptionist recruiter researcher scientist secretary supervisor teacher trainer
    """
)
"""What people are; not what software is called, too (assistant, editor)."""

COMMON = _words(
    """
    engineer developer designer senior junior analyst consultant assistant vice intern
    bye user dancing dance art nature glad aww yikes gosh whoa
    a about above absolutely according account actually add after again ago agree ah all almost along already
    alright also although always am amazing among an and another answer any anybody anyone anything anyway
    apparently are around as ask at attached aunt available away awesome awful back bad basically be beautiful
    because been before being below beside besides best better between beyond big both boy brand brother bring
    business but buy by call called can cannot car care cell change check child children choose class clear clearly
    close come comments company congrats congratulations consider contact continue cool could couldn't country
    course create currently customer cut cute dad daily daughter day days dear decide definitely despite did didn't
    different dinner director do doctor does doesn't doing don't done down drive due during each early easy eat
    eight either eleven else email end enjoy enough especially even eventually ever every everybody everyone
    everything exactly excellent except excuse fast family far father feel few fifty finally find fine first five
    follow following food for forget former fortunately forty found four free frankly friday friend friends from
    full fun funny further get getting girl give go god going gonna good goodbye got great guess guy guys had half
    happy hard has hasn't have haven't having he he'd he'll he's hell hello help hence her here here's hers hey hi
    high highly him his hmm home honestly hope hopefully horrible hotel hour hours house how however huge hundred
    husband hurry i i'd i'll i'm i've idea if imagine important in indeed inside instead into is isn't it it'd it'll
    it's its just keep kid kids kind know large last late later lately learn least leave left less let let's life
    like likely listen little live lol long look looking looks lot lots love lovely low lunch made mail main make
    makes making man many maybe me mean meanwhile meet meeting men mine miss mom moreover more most mother move mr
    mrs ms much mum must my myself name near need needs neither never nevertheless new news next nice night nine no
    nobody none nope nor not note nothing now number obviously of off office oh ok okay old on once one ones only
    onto open or order other others otherwise our ours out over overall own part parents pay people perfect perhaps
    person personally phone place play please plus point poor possibly pretty previous price probably problem
    project put question quick quickly quite rather read ready real really recently recommend regarding remember
    report rest right room run sad said same say says school second see seems seen send sent seriously service set
    seven several shall she she'd she'll she's should show similarly simple simply since sir sister six small so
    some somebody someone something sometimes somewhere son soon sorry sort speaking staff start started still stop
    store strange such suddenly super suppose sure surely surprisingly take talk team tell ten terrible than thank
    thanks that that's the their them then there there's therefore these they they'd they'll they're they've thing
    things think thirty this those though thought three through throughout thus time times to today together
    tomorrow tonight too total totally toward towards tried true truly try turn turns twelve twenty twice two ugh uh
    um unable uncle under unfortunately unless unlike until up upon us use used using usually very via visit wait
    wake walk wanna want wanted wants was wasn't watch way we we'd we'll we're we've week weekend weeks welcome well
    went were what what's whatever when whenever where whereas wherever whether which while who who's whoever whole
    whom whose why wife will wish with within without woman women won't wonder wonderful wonderfully word work
    worked working works world worst worth would wouldn't wow write wrong yeah year years yep yes yesterday yet you
    you'd you'll you're you've young your yours yourself yay thinking remind meow haha hahaha btw fyi asap imo lmao
    omg tbh idk faq diy rip ps pm january february march april may june july august september october november
    december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday saturday sunday mon
    tue tues wed thu thur thurs fri sat sun chinese english japanese korean french german spanish italian american
    british canadian australian indian russian asian african european taiwanese mandarin cantonese latin arab arabic
    greek dutch turkish vietnamese thai mexican brazilian irish scottish swedish polish iraqi iranian israeli
    palestinian muslim muslims islamic christian christians jewish jews jew catholic buddhist democrats republicans
    democrat republican christmas easter thanksgiving halloween merry morning afternoon evening spring summer autumn
    western eastern northern southern
    winter president mayor senator minister professor king queen prince princess captain general colonel sergeant
    gov posted fax file participants speak themselves p.s removing officer judge manager ceo cto cfo boss teacher
    chief secretary sincerely regards cheers subject date fw fwd re cc attn
    """
)
"""Lower-case words that begin sentences or stand capitalised without naming anything."""

GENERIC = _words(
    """
    ai app apps api ppt pdf usb wifi wi-fi ceo cto cfo coo pm am id it hr tv ktv diy fyi btw lol xd vip sop kpi cpu
    gpu ram ssd ok qa qq ui ux url http https www email e-mail word excel mail line3 dm pk cp bug demo pass case po
    online offline code debug deadline meeting update cd dvd atm gps led lcd dna rna mri ct mvp ppm roi b2b b2c csv
    json xml html css sql pc mac os ip faq nba3 no yes hi bye ps ml nlp llm rag asr tts ocr sdk ide crm erp qr bbq
    spa pub bar the follow-up t-shirt check-in check-out x-ray part-time full-time up-to-date well-known long-term
    short-term high-end low-end one-on-one so-called by-law bit gb mb tb kb km cm mm kg usd ntd twd rmb nt
    """
)
"""Lower-case forms of common nouns and abbreviations that Chinese speakers write in Latin letters."""

TITLES = _words(
    """
    mr mrs ms miss dr prof professor doctor sir uncle aunt auntie grandma grandpa president senator captain judge
    """
)
"""Words before a person's name; they are no part of the mention."""

GIVEN_NAMES = _words(
    """
    aaron adam adrian alan albert alex alexander alice allen amanda amy andrea andrew angela anna anne anthony
    arthur ashley barbara ben benjamin betty bill bob brandon brenda brian bruce bryan carl carol caroline catherine
    charles charlie charlotte chris christina christine christopher chuck cindy claire clara daniel danny dave david
    debbie deborah dennis diana diane donald donna dorothy doug douglas dylan ed eddie edward elena eleanor
    elizabeth ella emily emma eric erica ethan eva evan evelyn frank fred gary george gina gloria grace greg gregory
    hannah harold harry heather helen henry howard ian irene isaac isabella ivan ivy jack jacob james jamie jane
    janet jason jay jean jeff jeffrey jennifer jenny jeremy jerry jesse jessica jill jim jimmy joan joe joel john
    johnny jon jonathan jordan jose joseph joshua joyce juan judy julia julian julie justin karen kate katherine
    kathy katie keith kelly ken kenneth kevin kim kimberly kyle larry laura lauren lawrence leah leo leon leslie
    liam linda lisa logan louis lucas lucy luis luke lynn madison marc marcus margaret maria marie marilyn mario
    mark martha martin mary matt matthew megan melanie melissa mia michael michelle miguel mike mohammed monica
    nancy naomi natalie nathan neil nicholas nick nicole noah nora oliver olivia oscar pamela patricia patrick paul
    paula peggy peter phil philip phoebe rachel ralph randy ray raymond rebecca ricardo richard rick rob robert
    robin roger ron ronald rose roy russell ruth ryan sally sam samantha samuel sandra sara sarah scott sean sharon
    shawn sheila shirley sophia sophie stanley stella stephanie stephen steve steven stuart sue susan suzanne sylvia
    tara taylor ted teresa terry theresa thomas tiffany tim timothy tina todd tom tommy tony tracy tyler vanessa
    veronica vicky victor victoria vincent virginia vivian walter wayne wendy william willie winston yvonne zach zoe
    """
)

PLACES = _names(
    """
    afghanistan, africa, alabama, alaska, amsterdam, argentina, arizona, asia, athens, atlanta, austin, australia,
    austria, baghdad, bali, baltimore, bangkok, bangladesh, barcelona, beijing, belgium, berlin, bogota, boston,
    brazil, britain, brooklyn, brussels, budapest, bulgaria, cairo, california, cambodia, canada, chengdu, chicago,
    chile, china, chongqing, cleveland, colombia, colorado, copenhagen, croatia, cuba, dallas, delhi, denmark,
    denver, detroit, dubai, dublin, edinburgh, egypt, england, ethiopia, europe, finland, florida, france,
    frankfurt, geneva, georgia, germany, ghana, greece, guangzhou, hamburg, hangzhou, hanoi, hawaii, helsinki,
    hong kong, houston, hsinchu, hungary, iceland, idaho, illinois, india, indiana, indonesia, iowa, iran, iraq,
    ireland, israel, istanbul, italy, jakarta, japan, jerusalem, jordan, kansas, kaohsiung, kentucky, kenya, kiev,
    korea, kyiv, kyoto, las vegas, lebanon, lima, lisbon, london, los angeles, louisiana, macau, madrid, maine,
    malaysia, manchester, manhattan, manila, maryland, massachusetts, melbourne, mexico, mexico city, miami,
    michigan, milan, minnesota, mississippi, missouri, montana, montreal, moscow, mumbai, munich, myanmar, nanjing,
    nebraska, nepal, netherlands, nevada, new delhi, new jersey, new mexico, new orleans, new york, new york city,
    new zealand, nigeria, north carolina, north korea, norway, ohio, okinawa, oklahoma, oregon, osaka, oslo, oxford,
    pakistan, palestine, paris, pennsylvania, peru, philadelphia, philippines, phoenix, pittsburgh, poland,
    portland, portugal, prague, puerto rico, qatar, rio de janeiro, romania, rome, russia, san diego, san francisco,
    san jose, saudi arabia, scotland, seattle, seoul, shanghai, shenzhen, silicon valley, singapore, south africa,
    south korea, spain, sri lanka, stockholm, suzhou, sweden, switzerland, sydney, syria, taichung, tainan, taipei,
    taiwan, taoyuan, tehran, tel aviv, tennessee, texas, thailand, tianjin, tibet, tokyo, toronto, turkey, u.k, u.s,
    u.s.a, uk, ukraine, united kingdom, united states, us, usa, utah, vancouver, venezuela, venice, vermont, vienna,
    vietnam, virginia, wales, warsaw, washington, washington dc, wisconsin, wuhan, wyoming, xi'an, yokohama, zurich
    """
)

ORGANISATIONS = _words(
    """
    google microsoft apple amazon facebook meta twitter ibm intel amd nvidia tsmc foxconn samsung sony toyota honda
    nissan tesla openai anthropic deepmind oracle sap cisco hp dell lenovo asus acer htc mediatek huawei xiaomi
    alibaba tencent baidu bytedance netflix spotify uber airbnb paypal visa mastercard walmart costco ikea starbucks
    mcdonald's nike adidas disney boeing airbus siemens bosch bmw volkswagen ford un who nato eu nasa fbi cia bbc
    cnn nba mlb nfl fifa ioc imf wto opec unesco unicef mit ucla nyu enron reuters bloomberg yahoo ebay adobe github
    gitlab
    """
)

ORGANISATION_HEADS = _words(
    """
    inc corp corporation ltd llc co company group university college institute school academy bank department
    ministry agency association society foundation council committee commission hospital clinic church museum
    library restaurant hotel cafe airlines airways motors electronics technologies systems labs laboratory press
    times post journal news network party congress senate court police army navy union league club team united
    city_fc fc orchestra band records studios pictures entertainment capital partners insurance
    """
)

PLACE_HEADS = _words(
    """
    street st road rd avenue ave boulevard blvd lane drive square plaza park bridge river lake mountain mount mt
    hill hills valley bay beach island islands sea ocean gulf canyon desert airport station harbor harbour port city
    county state province district village town north south east west
    """
)

BEFORE_OF = _words(
    """
    university bank department ministry house republic bay lord museum institute school college church gulf isle
    lake city board bureau office kingdom academy association center centre court duke statue tower game gates
    temple library
    """
)
"""Words that may stand before `of` inside a name: University of Oxford."""

PREFIXES = _words(
    """
    new great north south east west northern southern eastern western upper lower old united san santa saint st los
    las el general big royal national central first american british chinese little golden grand blue green red black
    white silver happy lucky crown
    """
)
"""Common words that begin a name where a name follows directly: New York."""

IN_NAMES_OF_THINGS = _words(
    """
    wok kitchen house garden palace grill dragon lotus cafe bistro diner tavern inn lodge palms star sun moon ocean
    river mountain forest bamboo panda tiger lion eagle phoenix jade pearl diamond gold food foods market shop store
    model studio software cloud data web net soft tech labs games mobile wireless digital power energy solar drive
    book books story stories war wars world night day time life love death game dark light fire ice water pro air
    pixel galaxy surface note watch pad pod box station master system systems
    """
)
"""English words that names of restaurants, products and works are made of, and names of persons are not."""

LEGAL_FORMS = _words(
    """
    inc ltd llc corp co
    """
)
"""What may follow a company's name behind a comma."""

CONNECTORS = _words(
    """
    of de la le van von der den del di da du al bin ibn & the
    """
)

AFTER_PLACE_CUES = _words(
    """
    in from near to around visit visiting visited via across toward towards outside
    """
)

VERBS_OF_PEOPLE = _words(
    """
    said says told asked likes loves hates wants needs works lives went came called wrote bought thinks knows plays
    joined announced released moved lost won lied laughed married graduated
    """
)
"""Words before which a capitalised word at the beginning of a sentence is the subject, thus likely a name."""
VERBS_AFTER_NAMES = _words(
    """
    is was has had will would can could made gave got does did isn't wasn't hasn't won't doesn't didn't uses used runs
    """
)
"""The same, less surely: common nouns stand before them too."""
COMMON_ENDINGS = ("ing", "tion", "sion", "ness", "ment", "ity", "ly", "ed", "ism", "ance", "ence", "ship", "s")
"""How common nouns, adverbs and participles end, and few names."""
NUMBERED = _words(
    """
    room building gate flight version model unit suite route highway order ticket case invoice sku apartment bus
    line terminal release ver no
    """
)
"""Words that make an identifier with a number behind them: Room 101."""
NEVER_NUMBERED = _words(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday chapter page section table
    figure step part article team category reader removing fax tel ext day week year age question item number about
    around at by for from in of on over since to until till under with and or the a an i we you he she it they is
    are was were has have only just than between after before during within nearly almost exactly top first last
    next all some these those my our your his her their usd ntd twd rmb nt us eur am pm ok
    """
)
"""Words that a number follows without making a name: March 3, Page 12, in 2020."""
MODEL_SUFFIXES = _words(
    """
    pro max ultra plus mini ti super air lite se fe xl
    """
)
"""What may follow the number of a product: iPhone 15 Pro."""

"""Words that tell what a name is, and words in capitals that are no names."""

from __future__ import annotations

import re

from everyword.knowledge.legacy.extract.rules.kin import FAMILY, OTHERS, PETS

# Written with a capital wherever they stand, and never a name of somebody or something.
CAPITAL_WORDS = frozenset(
    """i i'm i've i'll i'd ok okay tv pm am dm dms diy asap eta fyi btw lol omg imo imho tbh aka faq pdf csv
    html css json xml url api apis sql http https ui ux cpu gpu ram usb wifi wi-fi id ids ceo cto cfo coo hr pr prs
    qa vp it ai ml llm llms todo tbd rsvp ps nb vs etc vat mri adhd ptsd dna covid gps atm cv phd mba bsc msc sat
    gre gmat tsa q1 q2 q3 q4 monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays mon tue tues wed thu thur thurs fri sat sun january february march april
    june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec christmas
    easter halloween thanksgiving ramadan hanukkah diwali eid passover lent xmas god jesus bible quran allah lord
    buddha mum mom dad mummy daddy mommy grandma grandpa granny nana papa mama auntie english french german spanish
    portuguese italian dutch swedish norwegian danish finnish icelandic russian ukrainian polish czech slovak
    hungarian romanian bulgarian serbian croatian slovenian bosnian albanian greek turkish arabic hebrew persian
    farsi urdu hindi bengali punjabi tamil telugu marathi gujarati chinese mandarin cantonese japanese korean
    vietnamese thai indonesian malay tagalog filipino swahili zulu yoruba igbo hausa amharic latin esperanto welsh
    irish scottish scots gaelic basque catalan galician american americans british brits english canadian canadians
    australian australians mexican mexicans brazilian brazilians argentinian argentine chilean peruvian colombian
    venezuelan cuban european europeans african africans asian asians indian indians pakistani bangladeshi nepali
    nepalese sri-lankan egyptian moroccan tunisian algerian nigerian kenyan ghanaian ethiopian israeli palestinian
    iranian iraqi syrian lebanese saudi afghan austrian belgian swiss lithuanian latvian estonian germans italians
    spaniards frenchman greeks turks russians poles swedes danes finns christian christians muslim muslims jewish
    jews hindu hindus buddhist buddhists catholic catholics protestant orthodox mormon islam christianity judaism
    buddhism hinduism taiwanese singaporean jamaican haitian texan parisian londoner roman victorian renaissance
    baroque mediterranean scandinavian nordic western eastern southern northern republican democrat tory labour gen
    internet web earth sun moon mars venus jupiter saturn pluto valentine's mother's father's new-year""".split()
)

# With a capital at the start of a sentence these say nothing; in the middle of one they are emphasis or a title.
COMMON_WORDS = frozenset(
    """a about above absolutely actually add additionally after again ago all almost already also although
    always am amazing an and another any anyone anything anyway apparently are as ask at aw aww awesome back bad
    basically be because been before being believe besides best better between big both bring bro but buy by bye
    call can can't cannot certainly check cheers clearly come congrats congratulations cool could course cute damn
    day dear definitely did didn't dinner do does doesn't doing don't done dude during each early either else end
    enjoy especially even eventually ever every everybody everyone everything exactly excellent excited except
    exciting fair fantastic few finally find fine first five folks follow for forget fortunately four from fun funny
    general generally get getting give glad go going gonna good got gotta great guess guys ha had haha half happy
    hard has hasn't have haven't having he hello help hence her here here's hers hey hi him his hmm hold honestly
    hope hopefully how however huge hurry i if imagine important in indeed initially instead interesting
    interestingly into is isn't it it's its job just keep kids kind know last lastly late later learn least left
    less let let's life like likely list literally little live long look looking looks lots love lovely luckily
    lunch made main make man many maybe me meanwhile meet meeting might mine mm mmm more moreover morning most
    mostly move much must my myself name near need neither never nevertheless new next nice night no nobody none
    nope nor normally not note nothing now obviously of off oh okay old omg on once one only onto oops open or other
    others otherwise ouch our out over overall own parents part people perfect perhaps personally phew plan play
    please plus point poor possibly pretty previously probably problem put question quick quite rather read ready
    really recently regarding remember remind right run sadly same say says see seems seriously several shall she
    should show similarly simply since six so some somebody someone something sometimes soon sorry sounds speaking
    start still stop such suddenly super sure surely take talk team tell ten thank thankfully thanks that that's the
    their them then there there's therefore these they they're thing things think this those though thought three
    through throughout thus time to today together tomorrow tonight too totally towards true truly try turns two
    typically ugh uh uhh um unfortunately unless unlike until up update us use usually very wait walk want was
    wasn't watch way we we're we've week welcome well went were what what's whatever when whenever where whereas
    whether which while who who's whoever whole whose why will win wish with within without woah won't wonderful
    work works would wouldn't wow write yay yeah year years yep yes yesterday yet yo you you're your yours yourself
    yup section chapter figure table step part appendix introduction conclusion summary background overview notes
    agenda goals status option version phase level plan act day week month monday's birthday anniversary wedding
    dream team boss queen president minister king doctor nurse teacher coach captain chef sir madam miss mister
    north south east west central bank church school house street park city town mr mrs ms dr prof happy merry fact
    facts tip tips pro con pros cons idea ideas news breaking warning error caution attention example answer reply
    re fwd subject date hello greetings regards sincerely best kind warm yours love dears friends family mother
    father sister brother home office garden kitchen bathroom money health food music art math maths physics biology
    chemistry history science literature geography economics philosophy psychology engineering design marketing
    sales finance legal support operations security product research""".split()
)

TITLE_WORDS = frozenset(
    """mr mrs ms miss mx dr prof professor sir dame rev captain judge sensei uncle aunt auntie president senator
    detective officer sergeant""".split()
)
PARTICLES = frozenset("de da do dos das van von der den del della di du la le bin ibn al el ten ter y af av".split())
OF_HEADS = frozenset(
    """university bank museum ministry department institute school college church house bay gulf isle city
    society council academy republic kingdom board chamber league association cape""".split()
)
ORGANISATION_TAILS = frozenset(
    """inc ltd llc gmbh corp corporation company co plc ag bank university school hospital labs lab group
    foundation institute college studio studios clinic council ministry records airlines airways academy association
    society union agency partners holdings technologies systems software solutions consulting capital ventures
    motors pharmaceuticals industries press publishing media church museum club fc united federation committee
    authority bakery brewery café cafe restaurant bistro pharmacy library theatre theater gallery gymnasium
    orchestra choir robotics logistics energy analytics biotech therapeutics dynamics architects insurance""".split()
)
PLACE_TAILS = frozenset(
    """river lake street avenue road lane park beach island islands bay valley mountains mountain square bridge
    castle airport station county province peninsula falls canyon desert forest coast hills gardens harbour harbor
    plaza boulevard district village pier trail city center centre""".split()
)
PLACE_HEADS = frozenset("lake mount river cape port fort san santa saint st são puerto monte isle loch glen".split())
PROJECT_BEFORE = frozenset("project projects codename codenamed initiative operation".split())
PROJECT_AFTER = frozenset(
    """project repo repository initiative codebase rollout migration sprint prototype launch roadmap backlog
    milestone""".split()
)
TEAM_AFTER = frozenset("team squad band club committee choir crew league orchestra newsroom".split())
THING_AFTER = frozenset(
    """app application app's plugin extension framework library api sdk database server account subscription
    course playlist novel album song game console headset laptop phone watch bike tablet camera dashboard channel
    podcast license licence""".split()
)

# Verbs whose subject, or object, is a person.
PERSON_DOES = frozenset(
    """said says told tells asked asks thinks thought wants wanted called calls texted texts messaged emailed
    wrote replied answered laughed cried smiled agreed disagreed suggested suggests mentioned mentions explained
    promised invited joked whispered shouted complained confessed apologised apologized insisted admitted claims
    claimed argued loves loved hates hated likes liked prefers preferred knows knew hopes hoped believes believed
    remembers remembered forgot feels felt lives lived works worked moved married graduated retired studied studies
    cooks cooked baked drove drives walked walks sat slept woke visited arrived teaches taught joined quit resigned
    turned sang sings plays played recommended recommends sent gave brought bought borrowed showed helped helps
    picked met decided noticed hugged kissed waved came went got gets""".split()
)
TO_PERSON = frozenset(
    """told tell telling asked ask asking met meet meeting called texted text texting emailed messaged thank
    thanks hi hey dear hello hiya married marry dating dated invited invite hugged kissed helped missed miss with cc
    between thanked congratulated hired fired interviewed mentored congrats congratulations love hug introduced
    teaching taught remind bro poor sweet babysat babysitting seeing saw sees joined befriended adopted phoned phone
    ring rang owe owes gave lent paid trust admire envy forgave wed""".split()
)
SPEAK_TO = frozenset(
    """talk talked talking speak spoke speaking write wrote listened listen gave given said explain explained
    close engaged married apologised apologized reply replied lied attached lent owe introduced reached report
    reports reporting similar next thanks""".split()
)
GO_TO = frozenset(
    """go goes went going gone fly flies flew flying move moved moving drive drove driving travel travelled
    traveled traveling travelling trip trips relocate relocated relocating back over return returned returning get
    got come came coming train flight flights ticket tickets bus ferry journey drive headed heading emigrated
    immigrated commute off up down out visit way road holiday honeymoon been ran
    walked cycled sailed hitchhiked""".split()
)
PLACE_BEFORE = frozenset("in near around outside across via through throughout towards toward".split())
PLACED = frozenset(
    """live lives lived living born based grew up stay stayed staying house home flat apartment office weekend
    holiday summer winter vacation conference arrived landed settled settle working studying somewhere rented job
    anywhere year years month months week weeks school cottage studio cabin now currently""".split()
)
FROM_PLACE = frozenset(
    "am is are was were i'm he's she's they're we're come comes came moved back originally fly flew".split()
)
WORK_AT = frozenset(
    """work works worked working job jobs intern interned internship interview interviewed interviewing position
    role offer engineer developer designer nurse teacher manager analyst consultant contract started contracting
    freelance lecturer student study studies studied studying degree course""".split()
)
ORGANISATION_BEFORE = frozenset(
    "joined joining left leaving founded cofounded co-founded acquired joins leaves quit sued invested".split()
)
ORGANISATION_AFTER = frozenset("hired fired announced acquired released shipped employees stock shares ceo hq".split())
THING_BEFORE = frozenset(
    """watch watched watching rewatched read reading reread play played playing use used using uses bought buy
    buying install installed installing try tried trying binge binged streamed drive drove download downloaded
    upgraded deployed migrated learn learning wear wearing finished adopted switched ordered rewatching loved""".split()
)
OWNED_BY_PERSON = frozenset(
    """birthday house place flat apartment wedding party car room phone dog cat mum mom dad mother father sister
    brother son daughter wife husband partner boyfriend girlfriend kids parents family friend boss job office desk
    laptop email message idea advice recipe garden bike book talk thesis funeral graduation surgery voice""".split()
)
DETERMINERS = frozenset("a an the this that these those my our your his her their its some any no every each".split())
SHORT_WORDS_SHOUTED = 5  # letters: an acronym is no longer

# Who somebody is to somebody else; forms that mean the same become one.
SAME_KIN = {
    "mum": "mother", "mom": "mother", "mommy": "mother", "mummy": "mother", "mama": "mother",
    "dad": "father", "daddy": "father", "papa": "father",
    "wife": "spouse", "husband": "spouse", "girlfriend": "partner", "boyfriend": "partner",
    "fiancé": "fiance", "fiancée": "fiance", "fiancee": "fiance",
    "grandma": "grandmother", "granny": "grandmother", "nana": "grandmother", "grandpa": "grandfather",
    "auntie": "aunt", "manager": "boss", "supervisor": "boss", "neighbor": "neighbour", "puppy": "dog", "kitten": "cat",
    "coworker": "colleague", "co-worker": "colleague", "flatmate": "roommate", "housemate": "roommate",
}  # fmt: skip
_PLURAL_OR_VAGUE = frozenset(
    """parents kids children twins grandparents in-laws family friends roommates neighbours neighbors colleagues
    coworkers students pets dogs cats kid child baby toddler parent ex pet""".split()
)
# Said without a name, these still point at one person; "my friend" and "my colleague" point at any of several.
_ONE_OF_MANY = frozenset(
    "friend colleague coworker co-worker student client teammate classmate mentee assistant".split()
)
BARE_KIN = frozenset(FAMILY + OTHERS + PETS) - _PLURAL_OR_VAGUE - _ONE_OF_MANY
ANIMALS = frozenset(PETS) | frozenset(("greyhound", "labrador", "poodle", "beagle", "spaniel", "retriever", "terrier"))
_ROLES = """buddy pal guide instructor hairdresser barber plumber electrician mechanic tailor pastor priest
    rabbi imam pharmacist surgeon nurse psychologist counsellor counselor recruiter agent editor publisher intern
    cofounder co-founder crush advisor adviser carer midwife driver gardener cleaner chef bandleader captain""".split()
_KIN_WORDS = sorted({*FAMILY, *OTHERS, *ANIMALS, *_ROLES}, key=len, reverse=True)
KIN_LAST_WORDS = frozenset(("called", "named", "is", "was", *_KIN_WORDS))
_KIN = "|".join(map(re.escape, _KIN_WORDS))
_WHOSE = r"\b(?:(?P<mine>my|our)|(?:his|her|their|your|the|an?|this)|(?P<owner>(?-i:[^\W\d_a-z])[\w-]{1,30})['’]s)\s"
# Read backwards from a name: "my sister Mia", "my sister is called Mia", "her dog's name is Rex".
KIN_BEFORE_NAME = re.compile(
    rf"{_WHOSE}(?P<how>(?:(?!is\b|was\b|and\b)[\w-]{{1,14}}\s){{0,2}}?)(?P<kin>{_KIN})(?:,?\s|\s\("
    r"|['’]s\sname\s(?P<named>is|was)\s|\s(?P<be>is|was)\s|\s(?:(?P<been>is|was)\s)?(?:called|named)\s)$",
    re.IGNORECASE,
)
IS_MY_KIN = re.compile(
    r"\s?(?:,|\(|(?P<be>is|was|['’]s|has been|used to be)|(?P<unreal>is no longer|is not|isn['’]t|was never|will be"
    r"|(?:could|might|may|would|should) be))\s?(?:(?:also|now|actually|still|indeed|always)\s)?(?P<mine>my|our)\s"
    r"(?P<how>(?:[\w-]{1,14}\s){0,2}?)(?P<kin>" + _KIN + r")\b(?!['’]s)",
    re.IGNORECASE,
)
# Before "Dana is my manager": somebody wishes, thinks, says or supposes it.
FRAMED = re.compile(
    r"\b(?:wish(?:es|ed)?|if|unless|whether|th(?:ink(?:s|ing)?|ought)|believe[sd]?|sa(?:y|ys|id|ying)|claim(?:s|ed)?|t(?:ells?|old)"
    r"|hop(?:e|es|ed|ing)|guess(?:es|ed)?|suppos(?:e|es|ed|ing)|imagin(?:e|es|ed|ing)|pretend(?:s|ed)?|dream(?:s|t|ed)?"
    r"|doubt(?:s|ed)?|assum(?:e|es|ed|ing)|suspect(?:s|ed)?|wonder(?:s|ed|ing)?|maybe|perhaps|rumou?r|according)\b"
    r"[^.!?;\n]*$",
    re.IGNORECASE,
)
BARE_KIN_HERE = re.compile(
    r"\b(?:(?i:my|our)|(?P<owner>[^\W\d_a-z][\w-]{1,30})['’]s)\s(?:(?:older|younger|little|big|late|twin|new|old|eldest"
    r"|oldest|youngest|dear|own|poor)\s){0,2}(?P<kin>"
    + "|".join(map(re.escape, sorted(BARE_KIN, key=len, reverse=True)))
    + r")\b(?!-)",
)


def kin_of(word: str) -> str:
    """Give the one word for a relation: mum and mom are mother."""
    lower = word.lower()
    return SAME_KIN.get(lower, lower)

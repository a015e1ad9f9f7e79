"""Given names and the short forms that stand for them."""

from __future__ import annotations

# Formal name: its short forms. A short form of two names (Sam, Alex) stands for either.
_SHORT_FORMS = """
abigail: abby abbie gail | alexander: alex sandy xander sasha alec | alexandra: alex sandra lexi sasha alexa | alfred:
alf alfie fred freddie | alison: ali allie | amanda: mandy | andrea: andi | andrew: andy drew | angela: angie |
anthony: tony ant | antonia: toni | anastasia: nastya stacy | arthur: art artie | barbara: barb babs | bartholomew:
bart | benjamin: ben benny benji | bernard: bernie | beatrice: bea trixie | bradley: brad | brendan: bren | catherine:
cathy cat kate katie kitty cate | charles: charlie chuck chas | charlotte: charlie lottie | christian: chris |
christina: chris tina chrissie christy | christine: chris tina chrissie | christopher: chris kit topher | clifford:
cliff | constance: connie | cynthia: cindy | daniel: dan danny | danielle: dani | david: dave davy davey | deborah:
deb debbie debs | dennis: denny | derek: del | diana: di | dominic: dom nick | donald: don donny | dorothy: dot dottie
| douglas: doug dougie | edward: ed eddie ted teddy ned | edwin: ed eddie | eleanor: ellie nell nora ella | elizabeth:
liz lizzie beth betty betsy eliza libby lisa ellie | emily: em emmy | emma: em emmy | eugene: gene | evelyn: evie |
ferdinand: ferdie | florence: flo | frances: fran frannie | francesca: fran | francis: frank fran | francisco: paco
pancho | franklin: frank | frederick: fred freddie fritz | gabriel: gabe | gabrielle: gabby | geoffrey: geoff |
george: georgie | gerald: gerry jerry | gerard: gerry | gertrude: trudy gertie | gilbert: gil | giovanni: gianni |
giuseppe: beppe | gregory: greg gregg | guadalupe: lupe | harold: harry hal | harriet: hattie | henry: harry hank hal
| herbert: bert herb | howard: howie | isabel: izzy bella isa | isabella: izzy bella isa | ivan: vanya | jacob: jake |
jacqueline: jackie | james: jim jimmy jamie | janet: jan | jason: jay | jeffrey: jeff | jennifer: jen jenny jenn |
jeremy: jez jem | jessica: jess jessie | joan: joanie | joanna: jo | joanne: jo | john: johnny jack jon | jonathan:
jon jonny johnny | jose: pepe | joseph: joe joey | josephine: jo josie | joshua: josh | judith: judy | julia: jules |
julian: jules | katherine: kathy kate katie kat kitty | kathleen: kathy kath katie | kenneth: ken kenny | kimberly:
kim | lawrence: larry laurie | leonard: len lenny leo | leonardo: leo | lillian: lily lil | louis: lou louie | louise:
lou lulu | lucas: luke | lucille: lucy | magdalena: magda lena | manuel: manny manolo | marcus: marc | margaret:
maggie meg peggy marge greta | margarita: rita | maria: masha | marjorie: marge | martha: marty | martin: marty |
matthew: matt matty | maximilian: max | megan: meg | melissa: mel missy | michael: mike mick mickey micky mikey |
michelle: shelly chelle | miguel: migue | mikhail: misha | mildred: millie | mitchell: mitch | mohammed: mo | monica:
mo | nancy: nan | natalia: natasha talia | natalie: nat | nathan: nate | nathaniel: nate nat | nicholas: nick nicky
nico | nicole: nicky nikki | nikolai: kolya | norman: norm | oliver: ollie olly | olivia: liv livvy | oscar: ozzie |
pamela: pam | patricia: pat patty tricia trish | patrick: pat paddy | peter: pete | penelope: penny | philip: phil pip
| phillip: phil pip | priscilla: cilla | rachel: rach | randolph: randy | raymond: ray | rebecca: becky becca bex |
reginald: reg reggie | richard: rick ricky dick rich richie | robert: rob bob bobby robbie bert | roberta: bobbie |
roderick: rod | rodney: rod | roger: rodge | ronald: ron ronnie | rosalind: roz | rosemary: rosie | rose: rosie |
rudolph: rudy | russell: russ | salvatore: sal | samantha: sam sammy | samuel: sam sammy | sarah: sally sadie |
sebastian: seb bas | sergei: seryozha | sharon: shaz | shirley: shirl | sidney: sid | simon: si | sophia: sophie |
stanley: stan | stephanie: steph stephie | stephen: steve stevie | steven: steve stevie | stuart: stu | susan: sue
susie suzy | susanna: sue susie | suzanne: sue suzy | sylvia: syl | tamara: tammy | terence: terry | theodore: theo
ted teddy | theresa: terry tess tessa | thomas: tom tommy | timothy: tim timmy | tobias: toby | valentina: val |
valerie: val | veronica: ronnie vero | victor: vic | victoria: vicky tori vic | vincent: vince vinny | virginia: ginny
| vladimir: vova volodya | walter: walt wally | wesley: wes | wilhelmina: mina | william: will bill billy willy liam |
winifred: winnie | winston: winnie | yekaterina: katya | yevgeny: zhenya | zachary: zach zack | zoe: zo
"""


def given_forms(name: str) -> frozenset[str]:
    """Give the formal names that a given name, folded, can stand for; itself if there is none."""
    return _FORMAL.get(name) or frozenset((name,))


def is_short(name: str) -> bool:
    """Tell whether a given name is a short form of others."""
    return name in _FORMAL and name not in _FORMAL[name]


def _formal() -> dict[str, frozenset[str]]:
    stands_for: dict[str, set[str]] = {}
    for entry in _SHORT_FORMS.split("|"):
        formal, _, short = entry.strip().partition(":")
        stands_for.setdefault(formal, set()).add(formal)
        for form in short.split():
            stands_for.setdefault(form, set()).add(formal)
    return {name: frozenset(names) for name, names in stands_for.items()}


_FORMAL = _formal()
WITH_SHORT_FORMS = frozenset(_FORMAL)

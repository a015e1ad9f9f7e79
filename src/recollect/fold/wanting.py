"""How English says that something is wanted, owed, missing, put off or undecided, and that something goes wrong.

Frames, not words of any subject. Each pattern is tried on one case-folded sentence of bounded length; none nests
repetition, so that no text is slow to read.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from recollect.core.attention import IntentCategory

OWN = 0.6  # strength of what the speaker must, wants or promised
OTHERS = 0.3  # of what somebody else wants or needs: worth little alone
OPEN = 0.5  # of what is only said to be open: "no decision yet", "overdue"


class Cue(NamedTuple):
    """What makes a sentence a goal: of which category, how strongly, and where."""

    category: IntentCategory
    strength: float
    place: int


def cue_of(said: str) -> Cue | None:
    """Find what makes a sentence a goal; None where it is none, or only sounds like one."""
    if QUESTION.search(said):
        match = _ASKED_OF_ONESELF.search(said)
        return Cue(IntentCategory.QUESTION, OPEN, match.start()) if match else None
    found = _cue(said)
    if found is None or _SUPPOSED.search(said, 0, found.place) or _HAD_AT_LAST.match(said):
        return None
    if any(pattern.search(said) for pattern in (_NOT_MEANT, _NO_MATTER, _TALK)):
        return None
    return None if found.strength < OWN and _is_nobodys(said) else found


def _is_nobodys(said: str) -> bool:
    """Tell whether a sentence says how things are in general, or that what was asked for came about."""
    if _BEGINS_IN_GENERAL.match(said) or _IN_GENERAL.search(said):
        return True
    return _CAME_ABOUT.search(said) is not None and not _DENIED.search(said)


def says_unmet(said: str) -> bool:
    """Tell whether the words say that nothing came of it so far."""
    return _STILL_UNMET.search(said) is not None


def is_trouble(said: str) -> bool:
    """Tell whether a sentence says that something goes wrong, falls short or comes again: a sign of a goal."""
    if _TROUBLES.isdisjoint(_WORD.findall(said)) and not _FAILS.search(said):
        return False
    return not QUESTION.search(said) and not _OVER.search(said)


def _cue(said: str) -> Cue | None:
    own = _own(said)
    if own is not None:
        return own
    if match := _UNDECIDED.search(said):
        return Cue(IntentCategory.QUESTION, OPEN, match.start())
    if match := _MUST_CHANGE.search(said):
        return Cue(IntentCategory.TASK, OPEN, match.start())
    for category, frame in _OF_THINGS:
        if match := frame.search(said):
            return Cue(category, OTHERS if _OF_OTHERS.match(said) else OPEN, match.start())
    match = _OTHERS.search(said)
    if (match or _COMPLAINS.search(said)) and (served := _SERVED.match(said)):
        return Cue(IntentCategory.WISH, OPEN, served.start())
    return Cue(IntentCategory.WISH, OTHERS, match.start()) if match else None


def _own(said: str) -> Cue | None:
    """Find what says that a goal is the speaker's own, or the group's."""
    if match := _SAID_OUTRIGHT.search(said):
        return Cue(IntentCategory(str(match.lastgroup)), OWN, match.start())
    lead = _LEAD.match(said)
    begins = lead.end() if lead else 0
    if match := _NOTED.match(said, begins):
        return Cue(IntentCategory.WISH if match["wish"] else IntentCategory.TASK, OWN, begins)
    subjects = [(begins, begins), *(match.span() for match in islice(_SELF.finditer(said), _MOST_SUBJECTS))]
    for category, pattern in _OWN:
        for start, end in subjects:
            if pattern.match(said, end):
                return Cue(category, OWN, start)
    return None


def _ways(*ways: str) -> re.Pattern[str]:
    """Compile ways to say one thing, each of whole words; only where a word begins is any of them tried."""
    return re.compile(rf"\b(?=[\w'])(?:{'|'.join(ways)})\b")


QUESTION = re.compile(r"\?[\"'”’)\s]*$")

# What one's own goals are told with: either right after "I" or "we", or where a note begins, which leaves these out ...

_SELF = re.compile(r"\b(?:i|we)\b")
_LEAD = re.compile(r"(?:(?:and|but|so|also|still|really|finally|anyway),? )*")
_MOST_SUBJECTS = 4  # of a sentence: one with more is a tale
_OFTEN = r"(?:\s(?:really|still|also|just|finally|probably|definitely|badly|urgently|now|all|desperately)\b){0,2}"
_ARE = r"(?:'m| am|'re| are)"
_HAVE = r"(?:'ve| have)"
_WOULD = r"(?:'d| would)"
_DUTY = (
    r"(?:(?:'ll |will )?(?:need|have to)|have got to|'ve got to|got to|gotta|must|should|ought to|had better"
    r"|'d better)\b"
)
_PURPOSE = r"(?:goal|plan|aim|dream|hope|ambition|target|objective|intention|resolution|priority|wish|mission)"
_DONE = (  # participles; those in -ed are too many to name
    r"(?:\w+ed|done|written|begun|found|made|built|sent|paid|filled|taken|given|bought|brought|chosen|drawn|set|put"
    r"|cut|told|sold|met|heard|spoken|shown|seen to|dealt with|got|gotten|gone|come|rung|driven|grown|held|kept|left"
    r"|lent|read|run|spent|taught|won|broken|caught|bound|fed|hung|led|lit|proven|shut)"
)
_ASK = r"(?:how|why|whether|if|who|what|which|when|where)"

_OWN: tuple[tuple[IntentCategory, re.Pattern[str]], ...] = tuple(
    (category, re.compile(pattern))
    for category, pattern in (
        (
            IntentCategory.PROMISE,
            r"(?:\s(?:already|also|had|have))?\s?\bpromised\b|(?:\sstill)?\s?\bowe\b|\s?\btold [\w' ]{1,40}? (?:that"
            r" )?(?:i|we)(?:'ll|'d| will| would)\b|\s?\bsaid (?:that )?(?:i|we)(?:'ll|'d| will| would)\b|\s(?:gave"
            r"|have given) (?:my|our) word\b"
            rf"|{_HAVE} (?:sworn|vowed|pledged|committed|undertaken|agreed) to\b|\s?\b(?:swore|vowed|pledged) (?:to|i"
            rf"|we)\b"
            r"|\s?\bmade a (?:promise|commitment|vow|pledge)\b|\s?\b(?:agreed|volunteered|offered|undertook"
            r"|signed up) to\b(?! disagree| differ)|(?:'ll| will) (?!be\b|see\b|miss\b|never\b"
            r"|not\b)[^,;]{3,80}? (?:by|before) (?!(?:i|we|the time)\b)",
        ),
        (
            IntentCategory.WISH,
            rf"{_OFTEN}\s?(?:'d|would){_OFTEN} (?:like|love|prefer|rather)\b|{_OFTEN}\s?\b(?:want|wish|hope|aim|intend"
            rf"|plan|mean|crave|(?:long|yearn) (?:to|for))\b|{_ARE}?{_OFTEN}\s?\b(?:meaning|hoping|planning|aiming"
            rf"|trying|longing|itching|dying|striving"
            r"|working|determined|desperate|keen|eager|set|resolved|saving|pushing|dreaming) (?:up )?(?:towards?|to"
            r"|for|on|of)\b"
            rf"|(?:{_HAVE}| keep){_OFTEN} (?:been )?(?:meaning|wanting|hoping|planning|itching|longing"
            r"|trying|dying|intending) (?:to|for)\b"
            rf"|{_ARE}?{_OFTEN}\s?\b(?:looking|hunting|searching|shopping|on the lookout|in the market)"
            r" for (?:a|an|some|new|more|another|somewhere|someone|ways?)\b"
            rf"|{_HAVE} been (?:looking|hunting|searching|asking around) for\b|{_HAVE} (?:set (?:my|our)(?:self|selves"
            rf"| heart| sights| mind)|a mind to)\b|{_WOULD} (?:give|pay) (?:anything|a lot|good money|my \w+ \w+"
            rf"|my \w+|a fortune|the world) (?:for|to)\b|{_WOULD} (?:feel|sleep|be|breathe)(?: so| a lot| much"
            rf"| far)? (?:better|happier|easier|calmer|safer"
            r"|relieved|grateful|glad|happy)(?: \w+)? (?:once|if|when|with)\b|\s?\bexpect (?:an? |my |full |some "
            r"|your |you to |to (?:get|hear|receive|be paid)|(?!so\b|not\b)\w+(?=[.!]*$))|\s?\bcould(?: really)? (?:do"
            r" with|use) (?!a (?:coffee|drink|nap|hug|break|laugh|beer))|\s(?:shall|will) (?:\w+ )?(?:see|learn|finish"
            r"|get|have|make|be able to)\b(?=.*\b(?:one day|some day)\b)"
            rf"|{_ARE} after (?:a|an|some|another|something)\b|(?:{_ARE}|{_HAVE} been)?\s?\b(?:thinking (?:of|about)"
            rf"|considering|contemplating|toying with|tempted to"
            r"|looking into|gearing up|in search of) (?!you\b)"
            rf"|{_ARE} going to (?!(?:bed|sleep|be|have|miss|say|go|the|a|my|our|an|eat|watch|grab|see|regret|cry|die"
            rf"|kill)\b)"
            r"(?:finally |definitely |really )?[a-z]+\b|\s?\bfancy \w+ing\b",
        ),
        (
            IntentCategory.TASK,
            rf"{_OFTEN}\s?\b{_DUTY}|\s?\b(?:still )?(?:(?:always )?keep (?:putting (?:it )?off|postponing|forgetting"
            rf"|delaying"
            r"|avoiding|failing)|can't (?:put off|keep|afford)|have yet to|lack)\b|'ve yet to\b"
            rf"|(?:{_ARE}|{_HAVE} been)?(?: still)?\s?\b(?:putting (?:\w+ )?off|postponing|delaying|avoiding|dodging"
            rf"|dreading"
            r"|procrastinating|dragging (?:my|our) feet|behind (?:on|with))\b"
            rf"|(?:{_ARE}|'ve been| was| were) (?:supposed|due|meant|obliged|expected) to\b|\skeep telling (?:myself"
            rf"|ourselves) to\b|{_HAVE} been asked to\b|'d (?:best|do well to)\b|{_HAVE} (?:an? |some |the "
            rf"|\w+ )(?:\w+ ){{0,3}}(?:to (?!go\b)\w+|left to \w+)(?: (?:by|before|first)\b|[.!]*$)"
            r"|(?:'ve|'d| have| had)?(?: \w+)?\s?\b(?:forgot|forgotten|meant|neglected|failed|didn't manage"
            r"|never managed|haven't managed|struggling|been struggling|been told|been reminded) to\b"
            rf"|{_ARE}?\s?\b(?:struggling|battling|fighting) (?:to|with)\b|\s?\bcan't (?:seem to )?(?:find|get|reach"
            rf"|afford)\b",
        ),
    )
)
# ... or with words that need no such beginning.
_OUTRIGHT: dict[IntentCategory, tuple[str, ...]] = {
    IntentCategory.REMINDER: (
        r"remind me|don't (?:let me )?forget|(?<!i )remember to|note to self|must remember|mustn't forget|can't forget",
    ),
    IntentCategory.PROMISE: (r"on the hook for|it(?:'s| is) my turn to|up to (?:me|us) to",),
    IntentCategory.WISH: (
        r"what (?:i'm|we're|i am|we are) (?:after|aiming for|hoping for|working towards?|going for)",
        rf"(?:my|our) (?:\w+ )?{_PURPOSE}(?: is| for| this| remains| would be|(?=:))",
        r"if (?:i|we|someone|somebody) could (?:just|only|finally)",
        r"if only (?:i|we|there|it|the|my|our|this|that|somebody|someone)|one day i(?:'ll| will| shall)",
        r"it(?: would|'d) (?:help (?:if|to|a lot)|be (?:good|great|useful|wise|helpful|better|a relief"
        r"|nice) (?:to (?:have|get|know|finish|replace|own|find)|if (?:we|i|someone|somebody|there|the|my|our|this"
        r"|they)))",
        r"dream of (?:\w+ing|a|an|having|one)|heart(?: is|'s) set on",
        r"this is the (?:year|month|summer|week) (?:i|we|when|that|for|to)|before i (?:die|turn|retire|leave)",
        r"(?:weight off|relief|godsend|load off)\b[^,;]{0,20}\b(?:if|once|when|to)",
        rf"the {_PURPOSE} (?:is|remains|was always) (?:still )?(?:to|that|for)",
    ),
    IntentCategory.TASK: (
        rf"(?:someone|somebody|one of us|the team){_OFTEN} (?:{_DUTY}|(?:has|needs|ought) to)|to[- ]?do(?=:)",
        r"never (?:yet )?(?:got|gotten|getting|gets?) (?:a?round|down) to",
        r"ha(?:ve|s)(?:n't| not) (?:yet )?(?:got|gotten) (?:a?round|down) to",
        r"(?:on|off|top of|high on|next on) (?:my|our) (?:\w+[ -]){0,2}(?:list|agenda|plate|conscience|mind)",
        r"(?:on|top of) the (?:agenda|(?:to-?do|wish|bucket|shopping) list)",
        r"(?:didn't|did not|never|don't) (?:get|got|have|had|find|found|seem to find) (?:a chance|the (?:time|nerve"
        r"|energy|chance|courage)|time|round|around) to",
        r"(?:my|our) (?:next|first|biggest|main) (?:job|task|step|priority|challenge|headache) (?:is|will be|remains)",
    ),
}
_SAID_OUTRIGHT = _ways(*(f"(?P<{category}>{'|'.join(ways)})" for category, ways in _OUTRIGHT.items()))
# How notes begin.
_NOTED = re.compile(
    rf"(?P<wish>(?:the )?{_PURPOSE}(?: for| this| is|:)|(?:wanted|seeking|in search of|desperate)\b(?: for|:| to| -))"
    r"|(?:it's |it is )?(?:about |high )?time (?:to|i|we|for|someone|somebody)\b|(?:[\w'-]+ ){0,2}(?:wish(?: ?list)?"
    r"|request|goal|aim|target|ask|action point|need|requirement|blocker|blocked|to-?do|task|plan|objective|deadline"
    r"|outstanding|pending|on order|help wanted)s?(?: [\w']+){0,3}: (?!none\b|nothing\b|no\b|done\b|yes\b)"
    r"|out of (?!curiosity|nowhere|the\b|town|office|bed|sight|interest|respect|habit|this\b)\w+|whoever (?:has|took"
    r"|is)\b|(?:another |second |third |new )?(?:complaint|request|query|inquiry|enquiry|reminder) (?:about|for|from"
    r"|re|regarding)\b|(?!(?:i|we|he|she|they|you|it|what|all)\b)[\w'-]+(?: [\w'-]+){0,3} (?<!\bi )(?<!\bwe )(?<!\bhe"
    r" )(?<!\bshe )(?<!\bthey )(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bnot )(?<!\bno )(?<!\blonger"
    r" )(?:needed|required|sought)(?= (?:for|on|in|at|by|to|urgently)\b|[.,;!]|$)|let's (?!go\b|see\b|say\b|hope\b"
    r"|face\b|talk\b|chat\b|meet\b|eat\b|have\b|grab\b|not\b|just\b|be\b|call\b)\w+|(?:needed|required|missing|urgent"
    r"|action(?: items?)?|next (?:steps?|up)|follow[- ]up|reminder|to fix|to buy|to book|still to do|left to do"
    r"|jobs?(?: for| left)?|shopping list|priority|open(?: point| issue)?)\b[^:.]{0,30}:|(?:please )?(?:ring|call"
    r"|phone|email|book|buy|order|pay|renew|cancel|chase|return|collect|pick up|send|fix|clean|submit|file|register"
    r"|post|replace|repair|arrange)\b[^,;]{2,80}? (?:by|before|asap|tomorrow|this week|next week|on (?:mon|tues|wednes"
    r"|thurs|fri)day)\b"
)

# What is said of a thing, whoever sees to it

_CHANGE = r"(?:come|go|change|stop|improve|end|happen|start|drop|fall|rise|shrink|grow|reach|fit|work|move|leave|give)"
_THING = r"(?!(?:no|some|any|every)thing\b|king\b|being\b)[\w-]+ing\b"
_PASSIVE = (
    r"(?:has to|have to|must|should|needs? to|ought to|has got to) (?:be|get|\w+ be)|still needs?",
    rf"(?:needs?|wants?|requires?|deserves?) (?:an? )?(?:\w+ly )?{_THING}",
    r"(?:needs?|wants?|requires?) (?:an? )?(?:\w+ )?(?:repair|replacement|overhaul|service|refill|update|upgrade"
    r"|cleanup|clean|rewrite|review|attention|fix|owner|decision|answer|rethink)s?",
    r"(?:has|have|is|are|'ve|'s) yet to|(?:is|are)(?: \w+)? (?:needed|required|wanted)|supposed to (?!be (?:good|great"
    r"|nice|fun)\b)\w+|(?:was|were) (?:meant|due|expected|slated) to \w+",
    r"(?:something|things|this|that|it)(?: really)? (?:must|has to|have to|needs to|can't|cannot) (?:\w+ )?(?:change"
    r"|give|happen|go on|stop|continue|wait|improve|be)",
    r"i need that|there(?:'s| is)? (?:has to|must|has got to|got to|ought to|should) be (?:an? )?(?:\w+ )?way",
)
_MUST_CHANGE = re.compile(
    rf"(?:^|[,;:] |\band |\bso )(?:they|my|our|the|this|that|these|those|it)\b[^,;]{{0,50}}? (?:ha(?:s|ve)(?: got)? to"
    rf"|must|needs? to|ought to) {_CHANGE}\b"
)
_NUMBER = (
    r"(?:\d[\d,.]{0,9}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|dozens|hundreds"
    r"|several|a few|a dozen)"
)
# What is not there, or not enough of it.
_LACKING = (
    r"lack(?:s|ing)?|for (?:want|lack) of|shortage of|short (?:of|on)|running (?:low|short|out(?! of time\b))|low on"
    r"|insufficient|understaffed|in (?:\w+ )?need of|cr(?:ies|ying|y) out for|begging for|overdue for|due for",
    r"could (?:really )?(?:do with|use) (?:an?|some|more|new|another|\w+ing)|could be better|screaming for"
    rf"|calls? for (?!{_NUMBER} )\w+",
    r"nowhere near|not anywhere near|far from (?:done|ready|finished|complete|over|enough|perfect)",
    r"a long (?:way|road) (?:to|ahead|off|from|for)|no (?:\w+ ){1,3}(?:in sight|to speak of)",
    r"(?:without|there's no|there is no|there are no|we've no|we have no|i've no|i have no|has no|have no"
    r"|got no) (?:proper|working|decent|real|single|clear|way|plan|owner) \w+",
    r"down to (?:the|my|our) last|leaves? (?:a lot|much|something) to be desired|below (?:target|par|standard|plan)",
    r"room for improvement|needs work|(?:is|are|'re|'m|'s|still) (?:\w+ ){1,2}short|shy of|on (?:its|their"
    r"|the) last legs",
    r"falling (?:apart|behind)|past (?:its|their) best|seen better days|known better days|(?:unfit|not fit) for",
    r"out of (?:date|action|order|stock|use|service|reach)",
    r"(?:i|we)(?:'ve| have) (?:still )?(?:got )?(?:no|nowhere|nobody|no one|hardly any|too (?:few|little"
    r"|many))\b(?! (?:doubt|problems?|complaints?|regrets?|objections?|words|clue|idea|choice|secrets))",
    r"(?:none|not one|hardly any|barely any|few|fewer than half|less than half|only (?:half|some|a few|one|two"
    r"|three)) of (?:the|my|our|us|them|these)",
    rf"(?:{_NUMBER}|many|lots|plenty|more) (?:[a-z]+s (?:down|short|behind|late|overdue)(?=[.,;!]|$| on\b)"
    r"|(?:\w+ ){0,3}(?:to go|remaining|left to \w+|still to \w+|away from|open(?=[.,;!]|$)))",
)
# What can't go on as it is.
_UNBEARABLE = (
    r"too much for (?:me|us)|wit's end|end of (?:my|our) tether|at breaking point|dragg(?:ing|ed) (?:its|their|his"
    r"|her) feet",
    r"(?:can't|cannot|shouldn't|mustn't) [^,;]{2,40} (?:any ?more|any longer|like this|past \w+)",
    r"can't (?:go on|keep|carry on|continue|stand (?:it|this|that|another)|bear (?:it|this|that|another))",
    r"(?:so |really |just )?(?:sick|tired|fed up|weary)(?: and tired)? (?:of|with) (?!(?:the |this )?(?:rain|weather"
    r"|cold|heat|winter)\b)",
    r"had enough of (?!(?:the |this )?(?:rain|weather|cold|heat|winter)\b)",
    r"(?:it|this|that|which) (?:still )?(?:bugs|bothers|annoys|irks|nags|worries|frustrates) (?:me|us)",
    r"(?:simply |just |still |really )?(?:isn't|not|is not) (?:good|fast|safe|reliable|clear|big) enough",
    r"unacceptable|unsustainable|intolerable|untenable|driv(?:es|ing) (?:me|us) (?:mad|crazy|nuts|up)",
    r"(?:weigh|weighs|weighing|prey|preying|hang|hanging|hangs) (?:on|over) (?:me|us|my|our)|sore point",
    r"unless (?:i|we|someone|somebody)|^unless",
)
_OTHERS = re.compile(
    r"\b(?:needs?|wants?|demands?|asks? for|(?:is|are|keeps?) asking for|would (?:like|prefer|love)|promised"
    r"|expects an?|(?:would|'d) be (?:good|great|useful|wise) (?:to|if))\b"
)
# What they did not do is theirs, though somebody may wait for it.
_OF_OTHERS = re.compile(
    r"(?:they|he|she|my (?:[\w-]+'s )?(?:brother|sister|mother|father|mum|mom|dad|son|daughter|cousin|uncle|aunt"
    r"|grandma|grandpa|neighbou?r|friend|flatmate|wife|husband|teacher|niece|nephew)s?)\b(?!.*\b(?:me|us|my|our|we"
    r"|i)\b)"
)
_UNDECIDED = _ways(
    r"no (?:\w+ )?(?:decision|agreement|consensus|verdict|answer)(?: (?:yet|on|about|as to))|no decision",
    r"(?:nobody|no one) (?:has |can )?(?:decided?|knows? (?:yet )?(?:how|whether|if|who|what|which))|undecided",
    r"(?:open|unanswered|big) question|question (?:of (?:how|whether|who|what)|is (?:whether|how|who))",
    rf"i (?:still )?wonder {_ASK}",
    rf"(?:wondering|debating|pondering|weighing up|unsure|uncertain|torn|agonising|agonizing|arguing"
    rf"|dithering)(?: (?:about|over|as to|on))? (?:{_ASK}|between)",
    rf"(?:still )?(?:don't|do not|doesn't) know(?: yet)? {_ASK}",
    rf"(?:not sure|not certain|no idea|unclear|not clear|no clue|can't tell)(?: yet)? (?:about |of )?{_ASK}",
    r"(?:can't|cannot|couldn't|can not|yet to|haven't|hasn't|not yet|never) (?:yet |quite |really )?(?:decide[d]?"
    r"|choose|chosen|make up (?:my|our) mind|made up (?:my|our) mind|agreed?(?! more)|settled? on|pick(?:ed)? (?:one"
    r"|a)|work(?:ed)? out (?:how|whether|who|what)|figured? out (?:how|whether|who|what))",
    r"torn between|in two minds|on the fence|up in the air|a toss-up|jury(?:'s| is)(?: still)? out",
    r"been dithering|no (?:closer|nearer) to|sleep on it|to be (?:decided|confirmed|agreed|determined|announced"
    r"|scheduled|arranged|clarified|defined)|tbd|tbc",
    r"(?:still|yet) to (?:decide|choose|settle|agree|figure out|work out)",
)
_OPEN = (
    r"overdue|(?:still )?outstanding\b(?! (?:work|job|performance|meal|success|achievement))",
    r"still (?:missing|open|without|unable|lacks?|closed|down|behind|at large|shut|offline|to be|no|not|nobody|waiting"
    r"|haven't|hasn't|have not|has not|(?:sits|sitting|lies|lying)|un\w+ed|needs|blocked|pending|stuck|blank|empty"
    r"|broken)",
    r"un(?:resolved|solved|finished|answered|done|paid|signed|written|opened|sent|read|booked|tested|fixed|filled"
    r"|touched|claimed|assigned|changed|reviewed|packed|planned|staffed|funded|documented|sorted)",
    r"(?:about|high) time|remains? (?:open|to be|un\w+|missing|empty|a mystery|broken|\w+ed)|incomplete",
    r"await(?:s|ing)|pending",
    r"half[- ](?:done|finished|filled|built|written|painted|packed|empty|way through|complete)",
    r"no (?:[\w'-]+ ){1,8}(?:yet|so far)",
    r"no (?:progress|movement|news|word|sign|reply|response|answer|sight) (?:on|of|from|with|about|for|since|to)",
    r"no (?:\w+ ){1,3}?(?:has|have|was|were) (?:ever |yet )?(?!harmed|injured|damaged|needed|required)(?:gone|been"
    r"|come|found|sent|given|made|\w+ed)|(?:gone|went|goes) (?:missing|astray)|(?:is|are) missing",
    rf"nothing(?:'s| has| is)? (?:been )?(?:{_DONE}|back|in (?:place|for))",
    r"booked nothing|found no|(?:we've|i've) no",
    rf"(?:haven't|hasn't|have not|has not|'ve not|'s not)(?: (?:yet|even|been|ever|all|really"
    rf"|actually)){{1,2}} {_DONE}",
    r"(?:haven't|hasn't|have not|has not) (?!changed|laughed|smoked|rained|snowed|regretted|stopped|failed|missed|aged"
    rf"|tried|watched|visited|noticed|tasted|lived|worked with|played|decided){_DONE}",
    rf"(?:isn't|aren't|is not|are not|not)(?: yet| even)? (?!allowed|permitted|interested|surprised|impressed|bothered"
    rf"|worried|scared|married|amused|related|supposed|named|need|indeed|based|bad|red|sad|found in){_DONE}",
    r"never (?:turned up|arrived|came|showed up|materialised|materialized|got (?:done|finished|fixed|sent|an answer))",
    r"(?:it's|it has|it is) been (?:\w+ ){0,2}(?:\w+) (?:since|and)|to no avail|in vain|no luck",
    r"without (?:success|luck|an answer|a reply)|nowhere to be (?:found|seen)",
    r"has (?:its|their|the) work cut out|not (?:one|a single|a) [\w ]{1,20} (?:has|have|is)",
    r"(?:waiting|left|sitting|lying|languish\w*|stranded)(?: there| here)? (?:to (?:be|hear)|unopened|untouched"
    r"|in (?:a|the|my) (?:drawer|box|corner|inbox|queue|backlog))",
    r"in the backlog|still to (?:come|be|\w+)",
    r"(?:is|are|was|were|'s) due (?:on|by|in|next|this|tomorrow|at|any)|(?<!\bas )(?<!\bthan )expected (?:on|by|in"
    r"|next|this|tomorrow|at|any)",
    r"(?:expires?|runs? out|closes|ends) (?:on|in|next|this|tomorrow|tonight|(?:mon|tues|wednes|thurs|fri|satur"
    r"|sun)day)|deadline (?:for|is|looms|of)",
    r"(?:asked|emailed|written|called|rung|phoned|chased|complained|tried|reported)(?: \w+){0,4}? (?:twice|already"
    r"|\w+ times|repeatedly|and (?:nothing|no))",
    r"(?:had|has|have)(?:n't| not) (?:a|any|the) [\w' ]{2,30}\b(?:yet|so far|since)",
    r"where (?:we|i) (?:said|wanted|hoped|need)|work in progress|unfinished business|loose ends?|a way off",
    r"not (?:quite )?(?:there|ready|right|finished) yet|can't wait (?:much|any)",
    r"(?:still|been) (?:waiting|chasing|hunting|searching|looking) (?:for|on)?",
    r"(?:search|hunt|wait) (?:goes on|continues|for)",
    rf"(?:nobody|no one|none of us|neither of us)(?:(?:'s| has)(?: (?:yet|ever|even|really|had|been))* (?:{_DONE}"
    rf"|time)|(?:'s| is) (?:working|looking|responsible|in charge|free)| (?:dares|wants to|seems to|owns))",
    r"back (?:at|to) square one|in limbo|on (?:the )?back burner|gathering dust",
    r"fall(?:s|en|ing)? through the cracks|(?:is|are|'s|'re|'m|still|remains?|been) (?:on hold|stalled|blocked)",
    r"stuck (?:on|with|at|in|since|behind)|behind schedule",
    r"(?:keeps|kept) (?:slipping|sliding|getting (?:pushed|postponed|delayed))",
    r"(?:slipped|pushed back|postponed) again|kicked? (?:it )?down the road",
    r"(?:a|an)(?: \w+)? (?:email|letter|call|reply|decision|visit|review|check|answer) is (?:due|needed)",
)
# What somebody asks of somebody: requests, demands, orders, reminders.
_ASKED = _ways(
    r"(?:ask(?:ed|ing)|begs|begg(?:ed|ing)|plead(?:s|ed|ing)|press(?:es|ed|ing)?|push(?:es|ed|ing)?|lobb(?:y|ies|ied"
    r"|ying)|campaign(?:s|ed|ing)?|petition(?:s|ed|ing)?|appeal(?:s|ed|ing)?|appl(?:ies|ied|ying)|fil(?:es|ed|ing)"
    r"|rall(?:y|ies|ied|ying)|protest(?:s|ed|ing)?|fights?|fighting|fought|cla(?:m|mo)u?r(?:s|ed|ing)?|puts? in"
    r"|search(?:es|ing)?|hunt(?:s|ing)?|scour(?:s|ed|ing)?|scrambl(?:es|ed|ing)|call(?:ed|ing)|pray(?:s|ed|ing)?"
    r"|march(?:es|ed|ing)?|yearn(?:s|ed|ing)?|pleas?|requests?|bids?|applications?|demands?"
    r"|signatures) for (?!granted\b|you\b|now\b|sure\b|dinner\b)\w+",
    r"urg(?:es|ed|ing) (?!to\b)\w+",
    r"demand(?:s|ed|ing) (?:an?|the|that|to|more|their|her|his|its|better|fair|full|new|clear\w*|immediate)",
    r"under (?:pressure|orders|obligation) to|keeps? (?:asking|reminding|nagging|pushing|pressing|begging|complaining)",
    r"(?:race|races|racing|rush|rushes|scramble|scrambles|struggle|struggles|battle|battles|strive"
    r"|strives) to (?!the\b)\w+",
    rf"(?:give|gives|gave|given) (?:[\w']+ ){{0,4}}?{_NUMBER} (?:days|weeks|months|hours) to \w+|requests? to (?!the\b"
    rf"|an?\b)\w+",
    r"insist(?:s|ed|ing)? (?:on|that)|seek(?:s|ing)? (?:an?|the|more|new|\w+s)|asked [^,;.]{2,40}? for (?!(?:advice"
    r"|directions|a drink|a dance)\b)\w+",
    r"(?:orders|ordered|tells|instructs|instructed|directs|obliges) [^,;.]{2,50}? to (?!the|an?|my|our|his|her"
    r"|their)\w+",
    r"(?:set|sets|give|gives|gave|given) [^,;.]{2,40} (?:deadline|limit|ultimatum)",
    r"(?:scour|comb|search)(?:es|s|ed|ing)? [^,;.]{2,40}? for \w+",
    r"call(?:s|ed|ing)? (?:up)?on [^,;.]{2,60}? to",
    r"(?:told|asked|asks|asking|wants|expects|reminded|reminds|begged|wanted) (?:me|us) (?:to (?!say\b)|for|about|that"
    r"|of|again)",
    r"asked (?:whether|if) (?:some|any)(?:one|body)",
    r"asked (?:whether|if) (?:we|i) (?:could|can|might)",
    r"(?:asks|inquires|enquires|wonders) (?:again )?(?:when|why|whether|if|how)",
    r"warn(?:s|ed)? (?:that|of)",
    r"(?:asks|asked|asking|begs|begged) to (?:be|have|get|see|speak|talk)|(?:informed|notified|alerted)(?=[.,;!]|$)"
    r"|(?:protest|campaign|rally|fight|appeal|petition|march)(?:s|ed|ing)? (?:against|over)",
    r"wishes (?:to|for)",
    r"request(?:s|ed|ing) (?:an?|the|that|to|more|some|another|access|help|support)",
    r"(?:pinged|nagged|chased|pestered|prodded|reminded)(?: \w+)? (?:again|twice|by|about|for|an?|once)",
    r"escalated|handed (?:over )?to|referred to (?!as)|kindly|for (?:heaven|god|goodness|pete)(?:'s)? sake",
    r"(?:some|any)(?:one|body),? (?:please|kindly)|please help",
    r"(?:appeal|petition|complaint|lawsuit|claim|request|application|motion|ticket|issue|case"
    r"|incident)s? (?:[\w']+ ){0,5}?(?:filed|lodged|submitted|sent|pending|re-?opened|raised|opened)",
    r"(?:filed|lodged|submitted|raised|launched) (?:an? |the |my |our )?(?:\w+ )?(?:appeal|petition|complaint|claim"
    r"|request|application|protest|lawsuit)",
    r"(?:has|have) been (?:called|asked|requested|notified|informed|alerted|reported|raised|chased|reminded|flagged)",
    r"if you(?:'d| would| could) be so|los(?:es|ing|t) patience|running out of patience",
    r"(?<!and )please (?!find|call me|note|see|feel|let|disregard|ignore|excuse|forgive|enjoy|be|don't|do not|tell"
    r"|explain|summari[sz]e|translate|write|list|show|read|describe|give|make|help|remember|check|look|have|take|come"
    r"|join|pass|accept|keep|say|stop|go|wait|thank|rate|visit|leave|consider|contact|refer|use|click|press)\w+ (?:me"
    r"|us|my|our|the|it|them|something|this)",
)
# What somebody else said they would do, or means to.
_PLEDGED = _ways(
    r"(?:promis(?:es|ed|ing)|vow(?:s|ed)?|pledg(?:es|ed)|volunteer(?:s|ed)|agree(?:s|d)|undertook|undertakes|swore"
    r"|offered|commit(?:s|ted)) to (?!differ\b|disagree\b)[a-z]+",
    r"(?:promised|promises|pledged|pledges) (?!to\b|land\b)\w+",
    r"will (?!be\b|have\b|never\b|not\b)[a-z]+ [^,;.]{2,40}? (?:once|as soon as|after (?:his|her|their)|by (?:the end"
    r"|next|\w+day))",
    r"(?:said|says|claims|claimed|assured (?:me|us)|told (?:me|us)) (?:that )?(?:he|she|they|it)(?:'d|'ll| would"
    r"| will) (?!be\b|rain\b|snow\b|have\b|like\b|love\b)",
    r"will (?:get back to|look into|come back to|think about|think it over|follow up|see to|let (?:me|us) know)",
    r"owes? (?:me|us|them|him|her|the|our|my|an?|[a-z]+s)",
    r"(?:plans|aims|intends|seeks|proposes) to (?:be )?[a-z]+",
    r"(?:is|are) (?:still )?(?:hoping|planning|aiming|pushing|pressing|campaigning|fighting|lobbying|bidding|striving"
    r"|struggling|scrambling) (?:for|to)",
    r"(?:is|are) planned",
    r"(?:says|said|promises|claims) (?:that )?(?:the|my|our|it|this|that) (?:\w+ ){0,3}?(?:will|would) (?!be\b|rain"
    r"|snow|have\b)\w+",
    r"(?:is|are) (?:battling|wrestling|grappling|desperate|pleading|begging) (?!for a (?:treat|walk)\b)\w+",
    r"(?:is|are|remains?) (?:number one|an? (?:top |high )?priority|a must|top of the list)",
)
# What can't go on before something else comes.
_HELD_UP = (
    r"(?:won't|will not|can't|cannot|can not|couldn't|refuses? to|unable to|not allowed to"
    r"|isn't allowed to) [^,;.]{2,60}? (?:until|unless|as long as|if (?:i|we) don't|without (?:an?|the|my|our|that"
    r"|this|it|more"
    rf"|{_NUMBER})|before (?!(?:noon|bed|breakfast|lunch|dinner|coffee|midnight)\b)\w+)",
    r"(?:would|will|can) (?:\w+ ){1,3}only (?:by|if|once|when|after|with)",
    r"(?:hinge|hinges|hang|hangs|rides|ride) on (?:an?|the|that|this|one|whether|two|my|our|his|her|their|\w+'s)",
    r"contingent on|conditional on|subject to approval|blocked (?:by|on)|blocks? (?:the|our|my|us|me|all|every\w*)"
    r"|held up|bogged down|waiting on|bottleneck|prevented from|barred from|locked out|shut out",
    r"on (?:ice|back ?order|standby|hold)|at (?:an? (?:standstill|impasse|deadlock|stalemate)|loggerheads)"
    r"|standing still|until further notice|gridlock(?:ed)?|deadlock(?:ed)?|stalled|stalemate|in (?:breach|defiance"
    r"|violation|arrears)(?: of)?|under (?:review|discussion|consideration|investigation|negotiation)|in negotiations?"
    r"|in dispute",
)
# What was put off.
_PUT_OFF = (
    r"put(?:s|ting)? off (?!by)\w+|put (?:it|this|that|them) off|post?poned|deferred|shelved|adjourned|rescheduled"
    r"|(?:tabled|paused|suspended|parked|frozen) (?:until|till|for now|indefinitely)|mothballed|carried over"
    r"|rolled over|held over|pushed (?:back|out)|pushes [^,;.]{2,50}? back",
    r"(?:moved|pushed|put|set) (?:[\w']+ ){1,6}back (?:to (?:the \d|next|late|early)|until|till|by|again|another|a)",
    r"(?:bumped|delayed|cancelled|canceled|slipped|moved|pushed|missed)(?: \w+)? (?:again|once more|yet again"
    r"|for the (?:second|third|fourth|fifth|sixth|\w+th) time|to next (?:week|month|quarter|year|spring|summer))",
)
# What is there in part, or was never heard of.
_PARTLY = (
    rf"it(?:'s| has) been (?:{_NUMBER}|days|weeks|months|years|hours)(?: \w+)?(?=[.,;!]|$)",
    r"(?:has|have) been (?:down|out|off|offline|closed|broken|without|missing|dead|stuck|blocked|locked|unavailable"
    r"|waiting)(?: [\w']+){0,4}? (?:since|for)",
    r"(?:can't|cannot|couldn't|unable to) [^,;.]{2,40} since|(?:nobody|no one) (?:can|could|will) (?!beat|deny|believe"
    r"|tell|say)\w+",
    r"(?:i |we |^)(?:still )?(?:can't|cannot|can not|couldn't|unable to)(?: seem to| quite| even)? (?!(?:believe|help"
    r"|complain|thank|imagine|blame|say|fault|wait|remember|recall|stop|stand|bear|sleep|deny|argue|resist|lie"
    r"|hear you|see (?:why|how)|think|tell|talk|come|make it|join|stay|be|do that|agree|have|drink|eat|decide|choose"
    r"|go|dance|sing|swim)\b)[a-z]+",
    r"been (?:talking|thinking|arguing|complaining) (?:about|of) [^,;]{2,40}? for (?:years|months|weeks|ages)",
    r"fail(?:s|ed) to (?!see\b|notice\b|impress\b)\w+|(?:not|n't) enough (?:\w+ )?(?:to|for)|due (?:last \w+|yesterday"
    r"|back)",
    r"no (?:\w+ ){1,3}?(?:planned|scheduled|booked|arranged|agreed|assigned|announced|received|filled)",
    r"(?:nobody|no one) (?:picks|answers|replies|responds|reacts|cares|helps|comes|bothers|checks|maintains|owns)",
    r"in (?:the (?:works|making|pipeline)|progress)|being worked on|on (?:its|their) way",
    r"keeps? (?:being|getting) \w+ed|to this day|(?:have|has|given) until [^,;.]{2,30}? to \w+",
    r"(?:issues|questions|points|items|tickets|bugs|positions) (?:are |remain )?open",
    r"no (?:[\w']+ ){1,4}(?:before|until|till) (?!now\b)\w+|not yet \w+",
    r"no (?:reaction|reply|answer|response|feedback|callback|news|movement)(?=[.,;!]|$)",
    r"(?:ordered|requested|promised|announced|reported|applied|submitted|due|paid for) (?:[\w']+ ){0,3}?(?:ages|days"
    r"|weeks|months|years) ago|and it(?:'s| is) (?:now|already|nearly|almost)|it(?:'s| is) (?:the \d+\w\w|january"
    r"|february|march|april|may|june|july|august|september|october|november|december) and",
    r"(?:is|are|'re|'m) (?:all |completely |clean )?out of (?!(?:the|this|town|office|bed|sight|here|school|work"
    r"|hospital|print|season)\b)\w+",
    r"ignor(?:es|ed|ing) (?:my|our|me|us|all)",
    rf"(?:just|only|merely|barely|a mere) {_NUMBER} (?:\w+ ){{0,2}}?(?:out )?of (?!us\b)",
    r"everything (?:except|but|apart from|save)|(?:all|every \w+) (?:except|but) (?:an?|the|one|my|our|for)",
    r"(?:every|all) (?:[\w-]+ ){1,3}(?:taken|full|gone|booked|occupied)|(?:fully|completely|all) booked|sold out"
    r"|booked (?:up|out|solid)",
    r"(?:short-staffed|short-handed|underfunded|undermanned|under-resourced)|no[- ]shows?",
    r"no (?:assignee|owner|takers?|volunteers?|eta|replacement|successor|substitute|solution|workaround|remedy|cure"
    r"|explanation|diagnosis|confirmation|approval|funding|agreement|date|timeline|match|fix|plan|schedule|trace|end"
    r"|quorum|refund|budget|access)(?! (?:is |was )?(?:needed|required|necessary))",
    r"(?:has|have) (?:paid|made|given|sent|shown|found|seen|received|had|got|brought|\w+ed) (?:no|nothing|none)",
    r"(?:got|received|heard|brought|yielded|produced) (?:no|nothing)(?! (?:complaints?|problems?|wrong))",
    r"there(?:'s| is| are) (?:still )?not (?:an?|one|any)|not (?:one|a single) (?:\w+)",
    r"never (?:answered|replied|responded|called back|came back|got back|wrote back|heard back|paid|delivered|received"
    r"|happened|followed up|showed)",
    r"none (?:\w+ed|done|sent|in|back|free|available|found|ready|left|here)",
    r"(?:cause|reason|date|owner|status|outcome|whereabouts|source|origin|culprit|diagnosis|time|timeline|eta"
    r"|fate) (?:is |are |remains? |still |as yet )?(?:unknown|unclear|uncertain|open|unconfirmed|undetermined"
    r"|not known)",
    r"(?:top|foremost|main|chief|biggest|overriding|number one) (?:goal|ambition|aim|priority|target|concern|wish)",
    r"so much for|(?:fell|fall|falls|fallen|falling) on deaf ears|drop in the (?:ocean|bucket)|(?:distant"
    r"|far-off) dream|(?:fell|falls?|falling|fallen) short|a far cry from|ahead of (?:me|us)|the work isn't"
    r"|much remains|(?:listed|registered|in line|shortlisted) for|waiting list|on order|back-?ordered|wait(?:s"
    r"|ing)? in vain",
    r"un(?:released|delivered|approved|confirmed|explained|completed|addressed|attended|shipped|checked|collected"
    r"|returned|settled|published|merged|cleared|decided|identified|investigated|scheduled|processed|refunded"
    r"|accounted|recovered|repaired|implemented|deployed|met|proven|heard|verified|labelled|calibrated|manned|occupied"
    r"|patched|treated|insured|maintained|protected|secured|supported|translated|cleaned|guarded|sealed|reimbursed"
    r"|compensated)",
    r"(?:that|which) was (?:yesterday|(?:\w+ ){1,3}ago|last \w+)",
    r"remain(?:s|ed|ing)? (?:at large|trapped|closed|down|offline|without|far|short)",
    r"(?:far|long|way) (?:below|behind|off|short of) (?:the |our |my )?(?:target|goal|schedule|plan|mark|pace|quota)",
    r"(?<!been )waiting (?:for|on) (?:an?|the|my|our|his|her|their|your|approval|parts|results|news|feedback|\w+'s"
    r"|\w+ to)",
    r"(?:an?|some|more|another|that|proper)(?: \w+){1,4} would (?:cure|fix|solve|help|ease|settle|save|spare|speed"
    r"|cut)",
    r"would (?:really |surely |certainly |already )?help(?: a lot)?(?=[.,!]|$)",
    r"fixme|wip|tbd|todo(?= left| remains| in)|urgent(?:ly)?|asap|prio(?:rity)? ?1|p[01]|top priority",
    r"to be [a-z]+(?:ed|en|ne|nt|de|ilt) (?:by|before|within|prior to|no later than|ahead of|until|in time)",
    r"time for (?:an?|some|the|us|someone|somebody) (?!(?:coffee|drink|nap|break|beer|tea|walk|snack|holiday)\b)\w+",
    r"let's (?:finally|please|at last) (?!(?:go|eat|meet|catch)\b)\w+",
)
_OF_THINGS = (
    (IntentCategory.TASK, _ways(*_PASSIVE, *_OPEN, *_LACKING, *_UNBEARABLE, *_PARTLY, *_HELD_UP, *_PUT_OFF)),
    (IntentCategory.PROMISE, _PLEDGED),
    (IntentCategory.TASK, _ASKED),
)
_COMPLAINS = _ways(
    r"can't|cannot|unable to|complain(?:s|ed|ing)|reports?|reported|threaten(?:s|ed|ing)?|struggl(?:es|ed|ing)|annoyed"
    r"|angry|upset|dissatisfied|unhappy|frustrated"
)
# Whose wishes and complaints are somebody's work.
_SERVED = re.compile(
    r"(?:(?:the|a|an|one|our|my|same|this|that|another|several|many|some|most|both|two|three|four"
    r"|five) ){0,2}(?:\w+ )?(?:customer|client|user|caller|patient|guest|tenant|resident|reviewer|subscriber|passenger"
    r"|member|parent|student|reader|buyer|visitor|boss|manager|examiner|editor)s?\b"
)
_STILL_UNMET = _ways(
    r"still|yet|so far|haven't|hasn't|have not|has not|nobody has|no one has|nothing has|no (?:\w+ ){1,2}has",
    r"(?:is|are)n't|far from|overdue|outstanding|putting off|waiting (?:for|on)|won't|can't|cannot|not enough",
    r"nothing left|is empty|finally|nobody\b(?!')|no one|get nothing|every day|again",
    r"no (?:progress|closer|nearer)|nowhere near|unpaid|never (?:turned up|arrived|came)|square one",
    r"(?:keep|been) (?:putting|postponing|meaning)|remains? un\w+|dithering|goes on",
    r"(?:forgot|forgotten|meant|failed) to|to no avail|none of|not (?:one|a single)|stuck|as yet|it's been",
    r"to go|remaining|unanswered|no (?:luck|reply|news|sign|word)",
)

# What only sounds like a goal: told of the past, denied, supposed, asked of the listener, or said to keep a talk going.
_NOT_MEANT = re.compile(
    r"\b(?=[\w'])(?:had to|(?:i|we|you|he|she|they) needed|wanted to|was going to|should(?:'ve| have)(?! (?:it|the|my"
    r"|our|an?|this|that|these|those|them|him|her|some|more|another)\b)|could have|must have|must've|would have"
    r"|'d have|had i|had we|used to|once (?:hoped|wanted|planned|dreamt|dreamed)|(?:was|were) (?:trying|hoping"
    r"|planning|meaning|aiming) to|stopped (?:trying|wanting|hoping)|(?:gave|given) up (?:on )?(?:trying|wanting"
    r"|hoping)|never needed|according to|(?:rather|prefer) not|had (?:been )?(?:waiting|hoping|looking|longing|asked"
    r"|ordered|wanted|hoped|wished|requested) (?:for|to)|no need|needn't|shouldn't(?! [^,;]{2,40} (?:any ?more"
    r"|any longer|like this))|(?:don't|doesn't|didn't|do not|does not|won't|wouldn't) (?:\w+ )?(?:need|want|have to"
    r"|intend|plan|mean|wish)|mustn't(?! forget)|no longer (?:need|want)|never wanted|you(?:'ll| will| may"
    r"| might)? (?:should|must|need|have to|ought|want)|(?:what|all|everything|anything|whatever) (?:i|we) (?:need"
    r"|want|could want))\b"
)
# What holds in general, or is somebody's opinion, is nobody's goal ...
_SOME = r"(?:usually |often |always |generally |normally |mostly |typically |also |all )?"
_BEGINS_IN_GENERAL = re.compile(
    rf"(?!(?:users|customers|clients|patients|residents|parents|students|tenants|members|ops|sales"
    rf"|things)\b)(?:(?:good|most|all|many|healthy|young|old) )?(?!(?:this|its|always|sometimes|yes|plus|us"
    rf"|towards)\b)[a-z]+s {_SOME}(?:need|want|require)s?\b (?!\w+ing\b|to be \w+ed(?! every)|more\b|new\b|help\b"
    rf"|another\b|our\b|my\b)"
    r"|(?:every|each) (?:other )?(?:\w+day|day|week|month|year|morning|evening|night|spring|summer|autumn|winter"
    r"|january|february|march|april|may|june|july|august|september|october|november|december)s?\b|an? (?:good|proper"
    r"|healthy|typical|normal) |an? [^,;]{2,40} (?:means|indicates|signals)\b|[\w ]{0,15}(?:years|decades"
    r"|centuries) ago\b|(?:closed|resolved|solved|duplicate|withdrawn|obsolete)\b|\d{4}-\d\d-\d\d.{1,20}\b(?:error"
    r"|warn|warning|info|debug|fatal|trace)\b|if (?:\w+ ){1,2}were\b"
)
_IN_GENERAL = _ways(
    rf"needs (?:about |around |roughly |up to |at least |only |just )?{_NUMBER} (?:to {_NUMBER} )?(?:second|minute"
    rf"|hour)s?",
    r"(?<!\bi )(?<!\bwe )would (?:need|have to|want|require)",
    r"before (?:each |every |first )?use|in order to (?:work|function|live|survive|grow)|by (?:default|design"
    r"|definition)",
    r"as a rule|that(?:'s| is) (?:normal|expected|how it works)|(?:says (?:the|our|my)|the) (?:leaflet|manual|label"
    r"|book|sign|guide|handbook|rule)(?: says| states| reads|$|[.,])|usually|once (?:a|per|every) (?:day|week|month"
    r"|year)|typically|and then (?!i\b|we\b)\w+s|in my (?:humble )?opinion|as they say|like to say|used to say",
    r"(?:think|thinks|believe|believes|argue|argues|reckon|reckons) (?:that )?[^,;]{2,40}? (?:should|must|ought to)",
)
# ... and so is what came about, unless the words deny it.
_CAME_ABOUT = re.compile(
    r"\b(?=[\w'])(?:(?:went|came|gone|come) through|turned up|(?:was|were) (?:lifted|granted|found|met|heeded|answered"
    r"|honoured)|brought it|arrived|reopened|accepted|recovered|delivered|completed?|resolved|solved|closed|fixed"
    r"|repaired|merged|paid out|signed|confirmed|nothing left|all (?:good|set|done|in)|works? (?:now|well|again|fine"
    r"|like a charm)|and got|got (?:it|them|the|his|her|their|my|our)|received (?:it|them|all|the)|fell that|granted"
    r"|called off|scrapped|ruled out|dismissed|decided (?:against|not)|chose not|turned down|declined|at peace|happily"
    r"|to celebrate|thanks to|thank you|thanks)\b"
)
_DENIED = re.compile(
    r"\b(?:not|no|never|nobody|none|neither|nor|nothing(?! left)|still|yet|but|without|until|unless|before|if|must"
    r"|should|needs?|to be|remains?|remained|only|just|half|overdue|pending|awaiting|again|please|kindly|although"
    r"|though|except)\b|n't\b"
)
# What sounds open and is over, or is only a manner of speaking.
_NO_MATTER = re.compile(
    r"\b(?=[\w'])(?:went back|(?:got|was|were) (?:finally |at last )?(?:done|fixed|sorted|repaired|solved|settled"
    r"|resolved|answered)|at last|in the end|after all|thank goodness|(?:has|have) (?:now|finally|since) been"
    r"|finally (?:got|arrived|came|works?|\w+ed)|no [\w-]+ (?:is |was )?(?:needed|required|necessary)|not necessary"
    r"|a (?:great|huge|real) success|worth (?:it|the wait)|so (?:i|we) (?:bought|took|went|got|made|had)|(?:film|movie"
    r"|book|novel|song|story|series|documentary) about|can't (?:believe|help|complain|thank|imagine|blame|say|fault)"
    r"|couldn't (?:ask|be (?:happier|better|prouder)|agree more)|no (?:wonder|doubt|kidding|surprise|worries|hurry"
    r"|rush|thanks|offence)|nothing (?:beats|like|wrong|to worry|better)|never mind|if (?:you|anyone) (?:want|need"
    r"|like)s?|as the saying goes|so the (?:legend|story) goes|they say|long time no see|(?:in|of|since) 1\d\d\d"
    r"|hasn't (?:changed a bit|leaked|missed|failed|stopped|looked back)|haven't (?:laughed|seen you|looked back))\b"
)
_HAD_AT_LAST = re.compile(  # "Found the lamp we wanted"
    r"(?:lost|got|found|bought|made|did|sent|wrote|saw|met|won|built|[a-z]+ed) (?:the|my|our|all) [\w' -]{2,40}? (?:i"
    r"|we|she|he|they)(?:'d| had)? (?:always )?(?:meant|wanted|hoped|planned|needed|asked)\b(?!.*\b(?:but|not|still"
    r"|yet)\b)"
)
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|unless|in case|as if|wherever|whatever|until)\b[^,;]*$")
_TALK = re.compile(
    r"\b(?=[\w'])(?:(?:have to|must|should|need to|want to|like to|got to|gotta|hope to|love to)(?: \w+ly)? (?:say"
    r"|admit|tell you|confess|agree|know|thank|hear|ask you|mention|see (?:you|it|that|your|them)|go(?: now| to bed"
    r"| home| soon)?(?=[\s.,!]*$)|run(?=[\s.,!]*$)|dash|sleep(?=[\s.,!]*$| in\b| until\b| late\b| more\b| well\b)"
    r"|eat(?=[\s.,!]*$| (?:less|more)\b)|drink (?:less|more)\b|go to (?:bed|sleep)|get going|nap|rest|relax|catch up"
    r"|hang out|chat|talk (?:again|soon|later|more)|meet up|grab (?:a|some)|get (?:some|a) (?:sleep|rest|coffee|food"
    r"|lunch|drink|drinks|air|beer)|have (?:a|some|another) (?:coffee|tea|drink|drinks|break|lunch|beer|nap|snack"
    r"|biscuit|cake)|take (?:a|another) (?:nap|break|walk|rest|shower)|do (?:this|that|it) (?:again|more)|be (?:honest"
    r"|fun|nice|great|lovely|careful|there|back|off|going)|try (?:it|that|this|them|your)|check (?:it|that) out"
    r"|join you|come (?:along|over|too|with)|watch (?:it|that)|visit (?:some ?time|one day|some day))|(?:need|want"
    r"|like|love) (?:a |an |some |another |more |my )?(?!to )(?:\w+ )?(?:coffee|tea|nap|sleep|break|drink|beer|hug"
    r"|snack|rest|shower|holiday|vacation|weekend|bed|wine|chocolate|cake)\b|hope (?:you|that you|your|so|not|it|this"
    r"|that|the|all|everyone|everything|he|she|they)|wish (?:you|i (?:was|were|could|had)|we (?:was|were|could|had)|it"
    r"|him|her|them|there)|mean (?:it|that|,|i|you|the|what|well)|(?:i|we|you|to) (?:plan|mean|hope|wish"
    r"|aim)(?=[\s.,!?]*$)|(?:would|'d) (?:like|love)(?= (?:that|it|this|to,|to but)\b)|wonder (?:if|whether) (?:it|he"
    r"|she|they|that)\b|know what to (?:say|think|wear)|(?:some|any)(?:one|body) should (?:invent|write a book"
    r"|make a film)|some ?time(?:[.!\s]*$)|some ?day(?:[.!\s]*$)|one of these days)"
)
# A question that is asked of oneself, or of anybody who can help: it stays open until it is answered.
_ASKED_OF_ONESELF = re.compile(
    r"^(?:still )?(?:open|undecided|unclear|to be decided|tbd)\b[^?]{0,20}:|^(?:so,? |and |but |or )?(?:whether"
    r"|(?:which|what|how|where|when|who)(?: (?!do|does|did|is|are|was|were|will|would|can|could|should|shall|have|has"
    r"|you|i|we|he|she|they|it|about)[\w'-]+){0,6}?) to (?!say\b|do\b|think\b)\w+|\b(?:does|do|would|could|can"
    r"|might) (?:any|some)(?:one|body)(?: here| around| else)? (?:know (?:an?|of|where|how|who)|recommend|suggest|lend"
    r"|help)\b|\bhow (?:can|do|could) (?:i|we) (?!look\b|know\b|say\b|spell\b|feel\b|like\b)\w+|\b(?:can|could|would"
    r"|will) (?:you|someone|somebody) (?:please|kindly) (?!explain|tell|summari|translate|write|list|show|read"
    r"|describe|give|make|help|check|pass|repeat|clarify|find|suggest)\w+ (?:me|us|my|our|the)\b|\b(?:can|could) (?:we"
    r"|i) (?:please|finally) \w+|\bwho (?:takes over|(?:can|could|will) take|has time|is willing|volunteers)\b"
    r"|\bis (?:it possible to|there (?:an?|any|some)(?: \w+)? (?:way|fix|workaround|chance|update|possibility))\b"
    r"|\bwhere(?:'s| is| are| was) [^?]{2,60}\b(?:supposed|promised|was to|were to|asked|ordered|meant|due|paid)\b"
    r"|\b(?:what now|now what|any ideas?|any takers|any volunteers|any(?:one|body)) *\?|\bwhy\b[^?]{2,80}\b(?:still"
    r"|again)\b|\bwhen (?:will|can|do|does|is|are) [^?]{2,60} (?:be (?:ready|available|back|done|fixed|\w+ed)|arrive"
    r"|get (?:my|our|the|a))\b|\b(?:does|do|can|could|would|has|is) any(?:one|body)(?: here| around"
    r"| else)? (?:have (?:the |any |some |an? )?(?:time|spare|experience|tips|idea|contact)|got|free|able|willing"
    r"|up for)\b|\bhow (?:on earth|else|the heck|in the world|am i|are we|do we ever)\b|^(?:so |and "
    r"|but )?(?:where (?:is|are|'s)|where's|when (?:will|do|can) (?:i|we) (?:get|have|see|receive)|when will|why (?:is"
    r"|are|has|have|hasn't|isn't)) (?:my|our)\b|\bwhen (?:will|are|is|am) (?:i|we|someone|somebody|anyone"
    r"|they)(?: \w+)? (?:ever|finally|going to)\b|\bany (?:news|word|update|progress|luck) (?:on|about|with|from|of)\b"
    r"|^(?:so,? |and |but )?(?:should|shall) (?:i|we)\b[^?]{5,120}\bor\b|\b(?:who(?:'s| is| will|'ll)?|when(?:'s| is"
    r"| will)) (?:finally|actually|ever|going to)\b[^?]{0,20}\b(?:fix|pay|do|take|write|sort|book|send)\b"
)

# Signs that something falls short: it fails, comes again, is only partly there, or hurts.
_TROUBLES = frozenset(
    """again still yet only neither nobody nothing none never couldn't can't cannot won't wouldn't unable haven't hasn't
    isn't
    aren't wasn't weren't doesn't don't didn't failed fails failing fail missed lost late delayed complained complaining
    complaint complaints worse worst spread stuck skipped unchanged blank empty crept wasted forgot hurts guilty nervous
    ashamed wince awkward embarrassed embarrassing frustrated frustrating annoyed annoying worried worrying
    ache aches aching
    mess chaos nightmare expire expires broke broken leak leaks leaking leaked crash crashed crashes crashing struggle
    struggled struggling dripping rattles rattling squeaks squeaking rusty mouldy damp cracked torn worn dead died dying
    flooded rotten burst jammed hardly barely scarcely rejected refused declined cancelled canceled ignored unanswered
    overwhelmed exhausted painful sore cramped wrong badly terrible awful problem trouble faulty error errors bounced
    borrowed makeshift propped patched stopgap halfway nowhere behind longer another without lingers lingering persists
    persistent vanished disappeared mislaid refuses refusing stubbornly nonetheless afresh incorrect misspelt
    misspelled scared afraid sit sits unknown nil unchanged slipped slipping suspended ignores
    although despite unsuccessful unsuccessfully vacant inconclusive worsening worsened missing""".split()
)
_FAILS = _ways(
    r"once more|so far|not enough|too few|for the \w+ \w+ running|in a row|turned? away|gave up|giving up",
    r"chickened out|backed out|ran out|run out|cut off|fell (?:through|apart)|down to|half of|on hold",
    r"days? (?:on|late|of waiting)|weeks? (?:on|late)|keeps? \w+ing|by hand|timed out",
    r"there(?:'s| is| are) (?:no|nobody|nowhere|too|only)|(?:far|way|much) too|had to|no difference|as ever"
    r"|every bit as",
    r"(?:second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth) (?:time|email|call|reminder|attempt|try|letter"
    r"|message|request|notice|day|week|month|complaint|visit|round|warning|\w+ running)",
    r"(?:round|attempt|try|week|day|month) (?:two|three|four|five|six|seven|eight|nine|ten)",
    r"day after day|week after week|month after month|year after year|time after time|time and again|over and over",
    r"in a tie|start(?:s|ed|ing)? over|from scratch|back to \w+ing",
    r"(?:got|was|were|been) (?:dropped|cut|axed|pulled|skipped|overlooked|forgotten)|locked (?:out|up)|at a loss"
    r"|pil(?:e|es|ed|ing) up|sold out|no (?:better|change|improvement|use)",
    rf"in (?:the )?(?:next )?{_NUMBER} (?:days|weeks|hours)|(?:days|weeks|hours) (?:away|left|before|to go)",
    r"(?:has|have) (?:been (?:\w+ ){1,2}since|no (?!idea|doubt|problem|complaint|regret|objection|wish)\w+)",
    rf"{_NUMBER} (?:(?:\w+ ){{1,2}}left|of {_NUMBER})",
)
_WORD = re.compile(r"[a-z']+")
# What was trouble and is over.
_OVER = re.compile(
    r"\b(?:no longer|no more|not any ?more|no problem|no worries|finally (?:works?|fixed|done)|after all)\b"
)

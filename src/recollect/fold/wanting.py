"""How English says that something is wanted, owed, missing, put off or undecided, and that something goes wrong.

Frames, not words of any subject. Each pattern is tried on one case-folded sentence of bounded length; none nests
repetition, so that no text is slow to read.
"""

from __future__ import annotations

import re
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
    if not _WORTH_READING.search(said):
        return None
    if QUESTION.search(said):
        match = _ASKED_OF_ONESELF.search(said)
        return Cue(IntentCategory.QUESTION, OPEN, match.start()) if match else None
    if _NOT_MEANT.search(said) or _TALK.search(said):
        return None
    found = _cue(said)
    return None if found is None or _SUPPOSED.search(said, 0, found.place) else found


def says_unmet(said: str) -> bool:
    """Tell whether the words say that nothing came of it so far."""
    return _STILL_UNMET.search(said) is not None


def is_trouble(said: str) -> bool:
    """Tell whether a sentence says that something goes wrong, falls short or comes again: no goal, but a sign of one."""
    return _TROUBLE.search(said) is not None and QUESTION.search(said) is None and _OVER.search(said) is None


def _cue(said: str) -> Cue | None:
    for category, pattern in _OWN:
        if match := pattern.search(said):
            return Cue(category, OWN, match.start())
    if match := _UNDECIDED.search(said):
        return Cue(IntentCategory.QUESTION, OPEN, match.start())
    if match := _PASSIVE.search(said) or _OPEN.search(said) or _LACKING.search(said) or _UNBEARABLE.search(said):
        return Cue(IntentCategory.TASK, OTHERS if _OF_OTHERS.match(said) else OPEN, match.start())
    if match := _OTHERS.search(said):
        return Cue(IntentCategory.WISH, OTHERS, match.start())
    return None


QUESTION = re.compile(r"\?[\"'”’)\s]*$")

# What one's own goals are told with

_WE = r"\b(?:i|we)\b"
_ARE = rf"{_WE}(?:'m| am|'re| are)"
_HAVE = rf"{_WE}(?:'ve| have)"
_WOULD = rf"{_WE}(?:'d| would)"
_START = rf"(?:^(?:(?:and|but|so|also|still|really|finally|anyway),? )*|{_WE})"
_BETWEEN = r"(?:\s(?:really|still|also|just|finally|probably|definitely|badly|urgently|now|all|desperately)\b){0,2}"
_SOMEONE = r"\b(?:someone|somebody|one of us|the team)\b"
_DUTY = (
    r"(?:(?:'ll |will )?(?:need|have to)|have got to|'ve got to|got to|gotta|must|should|ought to|had better"
    r"|'d better)\b"
)
_PURPOSE = r"(?:goal|plan|aim|dream|hope|ambition|target|objective|intention|resolution|priority|wish|mission)"
_DONE = (  # participles; those in -ed are too many to name
    r"(?:\w+ed|done|written|begun|found|made|built|sent|paid|filled|taken|given|bought|brought|chosen|drawn|set|put|cut"
    r"|told|sold|met|heard|spoken|shown|seen to|dealt with|got|gotten|gone|come|begun|sorted out)"
)
_ASK = r"(?:how|whether|if|who|what|which|when|where)"

# The speaker's own, or the group's.
_OWN: tuple[tuple[IntentCategory, re.Pattern[str]], ...] = tuple(
    (category, re.compile(pattern))
    for category, pattern in (
        (
            IntentCategory.REMINDER,
            r"\b(?:remind me|don't (?:let me )?forget|(?<!i )remember to|note to self|must remember|mustn't forget"
            r"|can't forget)\b",
        ),
        (
            IntentCategory.PROMISE,
            rf"{_START}(?:\s(?:already|also|had|have))?\s?\bpromised\b|{_START}(?:\sstill)?\s?\bowe\b"
            rf"|{_START}\s?\btold [\w' ]{{1,40}}? (?:that )?(?:i|we)(?:'ll|'d| will| would)\b"
            rf"|{_WE} said (?:that )?(?:i|we)(?:'ll|'d| will| would)\b|{_WE} (?:gave|have given) (?:my|our) word\b"
            rf"|{_HAVE} (?:sworn|vowed|pledged|committed|undertaken|agreed) to\b|{_WE} (?:swore|vowed|pledged) (?:to|i|we)\b"
            rf"|{_WE} made a (?:promise|commitment|vow|pledge)\b|\bon the hook for\b",
        ),
        (
            IntentCategory.WISH,
            rf"{_START}{_BETWEEN}\s?(?:'d|would){_BETWEEN} (?:like|love|prefer|rather)\b"
            rf"|{_START}{_BETWEEN}\s?\b(?:want|wish|hope|aim|intend|plan|mean|crave|(?:long|yearn) (?:to|for))\b"
            rf"|(?:{_START}|{_ARE}){_BETWEEN}\s?\b(?:meaning|hoping|planning|aiming|trying|longing|itching|dying|striving"
            rf"|working|determined|desperate|keen|eager|set|resolved|saving|pushing|dreaming) (?:up )?(?:to|for|on|of)\b"
            rf"|{_WE}(?:'ve| have| keep){_BETWEEN} (?:been )?(?:meaning|wanting|hoping|planning|itching|longing"
            rf"|trying|dying|intending) (?:to|for)\b"
            rf"|(?:{_START}|{_ARE}){_BETWEEN}\s?\b(?:looking|hunting|searching|shopping|on the lookout|in the market)"
            rf" for (?:a|an|some|new|more|another|somewhere|someone|ways?)\b"
            rf"|{_HAVE} been (?:looking|hunting|searching|asking around) for\b"
            rf"|\b(?:my|our) (?:\w+ )?{_PURPOSE}(?: is| for| this| remains| would be|:)"
            rf"|^(?:the )?{_PURPOSE}(?: for| this| is|:)|\b(?:my|our) (?:heart|sights|mind)(?: is|'s| are) set on\b"
            rf"|{_HAVE} set (?:my|our)(?:self|selves| heart| sights| mind)\b"
            rf"|\bif only (?:i|we|there|it|the|my|our|this|that|somebody|someone)\b"
            rf"|{_WOULD} (?:give|pay) (?:anything|a lot|good money|my \w+ \w+|my \w+|a fortune|the world) (?:for|to)\b"
            rf"|{_WOULD} (?:feel|sleep|be|breathe)(?: so| a lot| much| far)? (?:better|happier|easier|calmer|safer"
            rf"|relieved|grateful|glad|happy)(?: \w+)? (?:once|if|when|with)\b"
            rf"|{_WE} could(?: really)? (?:do with|use) (?!a (?:coffee|drink|nap|hug|break|laugh|beer))"
            rf"|{_WE} (?:shall|will)(?: \w+)? (?:see|learn|finish|get|have|make|be able to)\b(?=.*\b(?:one day|some day"
            rf"|before|by)\b)|\bone day i(?:'ll| will| shall)\b"
            rf"|\b(?:it would|it'd|wouldn't it) be (?:good|great|useful|wise|helpful|better|a relief|nice)"
            rf" (?:to (?:have|get|know|finish|replace|own|find)|if (?:we|i|someone|somebody|there))\b"
            rf"|\b(?:it would|it'd) help (?:if|to|a lot)\b|\bdream of (?:\w+ing|a|an|having|one)\b"
            rf"|{_WE}(?:'m| am|'re| are) after (?:a|an|some|another|something)\b",
        ),
        (
            IntentCategory.TASK,
            rf"(?:{_START}|{_SOMEONE}){_BETWEEN}\s?\b{_DUTY}|{_SOMEONE} (?:has|needs|ought) to\b|\bto[- ]?do:"
            rf"|{_WE} (?:still )?(?:(?:always )?keep (?:putting (?:it )?off|postponing|forgetting|delaying|avoiding"
            rf"|failing)|can't put off|can't (?:keep|afford)|have yet to|lack)\b|^(?:it's |it is )?(?:about |high )?time (?:to"
            rf"|i|we|for|someone|somebody)\b"
            rf"|{_HAVE} yet to\b|{_ARE} yet to\b"
            rf"|{_WE}(?:'ve been| have been|'m| am|'re| are) (?:still )?(?:putting (?:\w+ )?off|postponing|delaying|avoiding"
            rf"|dodging|dreading|procrastinating|dragging (?:my|our) feet|behind (?:on|with))\b"
            rf"|{_WE}(?:'m| am|'re| are|'ve been| was| were) (?:supposed|due|meant|obliged|expected) to\b"
            rf"|{_WE} keep telling (?:myself|ourselves) to\b|{_HAVE} been asked to\b"
            rf"|\b(?:haven't|have not|never|not|hasn't) (?:yet )?(?:got|gotten|get|getting|gets)(?: (?:a)?round| down) to\b"
            rf"|\b(?:on|off|of) (?:my|our|the) (?:\w+[ -]){{0,2}}(?:list|agenda|plate|conscience)\b"
            rf"|{_HAVE} (?:an? |some |the |\w+ )(?:\w+ ){{0,3}}(?:to (?!go\b)\w+|left to \w+)(?: (?:by|before|first)\b|[.!]*$)",
        ),
    )
)

# What is said of a thing, whoever sees to it

_CHANGE = r"(?:come|go|change|stop|improve|end|happen|start|drop|fall|rise|shrink|grow|reach|fit|work|move|leave|give)"
_THING = r"(?!(?:no|some|any|every)thing\b|king\b|being\b)[\w-]+ing\b"
_PASSIVE = re.compile(
    r"\b(?:has to|have to|must|should|needs? to|ought to|has got to) (?:be|get|\w+ be)\b|\bstill needs?\b"
    rf"|^(?:my|our|the|this|that|these|those|it|\w+ing)\b[^,;]{{0,50}}? (?:has to|have to|must|needs? to|ought to) {_CHANGE}\b"
    rf"|\b(?:needs?|wants?|requires?|deserves?) (?:an? )?(?:\w+ly )?{_THING}"
    r"|\b(?:needs?|wants?|requires?) (?:an? )?(?:\w+ )?(?:repair|replacement|overhaul|service|refill|update|upgrade"
    r"|cleanup|clean|rewrite|review|attention|fix|owner|decision|answer|rethink)s?\b"
    r"|\b(?:has|have|is|are|'ve|'s) yet to\b|\b(?:is|are)(?: \w+)? (?:needed|required|wanted)\b"
    r"|\bsupposed to (?:be|have)\b|\b(?:something|things|this|that|it)(?: really)? (?:must|has to|have to|needs to|can't"
    r"|cannot) (?:\w+ )?(?:change|give|happen|go on|stop|continue|wait|improve|be)\b|\bi need that\b"
    r"|\bthere(?:'s| is)? (?:has to|must|has got to|got to|ought to|should) be (?:an? )?(?:\w+ )?way\b"
)
# What is not there, or not enough of it.
_LACKING = re.compile(
    r"\b(?:lacks|lacking|a lack of|for (?:want|lack) of|shortage of|short (?:of|on)|running (?:low|out|short)"
    r"|low on|too few|not enough|insufficient|understaffed|in (?:\w+ )?need of|cr(?:ies|ying|y) out for|begging for"
    r"|overdue for|due for|could (?:really )?(?:do with|use) (?:an?|some|more|new|another|\w+ing)"
    r"|(?:nowhere|not anywhere) near|far from (?:done|ready|finished|complete|over|enough|perfect)|a long (?:way|road)"
    r" (?:to go|ahead|off|from)|(?:without|there's no|there is no|there are no|we've no|we have no|i've no|i have no"
    r"|has no|have no|got no) (?:proper |working |decent |real |single |clear |way |plan |owner )(?:\w+)"
    r"|no (?:\w+ ){1,3}(?:in sight|to speak of|left)|down to (?:the|my|our) last)\b(?! of time\b)"
)
# What can't go on as it is.
_UNBEARABLE = re.compile(
    r"\bcan't (?:go on|keep|carry on|continue|stand (?:it|this|that|another)|bear (?:it|this|that|another))\b"
    rf"|{_ARE}(?: so| really| just)? (?:sick|tired|fed up|weary)(?: and tired)? (?:of|with) (?!(?:the |this )?(?:rain|weather"
    r"|cold|heat|winter)\b)|\bhad enough of (?!(?:the |this )?(?:rain|weather|cold|heat|winter)\b)"
    r"|\b(?:it|this|that|which) (?:still )?(?:bugs|bothers|annoys|irks|nags|worries|frustrates) (?:me|us)\b"
    r"|\b(?:simply |just |still |really )?(?:isn't|not|is not) (?:good|fast|safe|reliable|clear|big) enough\b"
    r"|\b(?:unacceptable|unsustainable|intolerable|untenable)\b|\bdriv(?:es|ing) (?:me|us) (?:mad|crazy|nuts|up)\b"
    r"|\b(?:weigh|weighs|weighing|prey|preying|hang|hanging|hangs) (?:on|over) (?:me|us|my|our)\b|\bsore point\b"
    r"|\bunless (?:i|we|someone|somebody)\b"
)
_OTHERS = re.compile(
    r"\b(?:needs?|wants?|demands?|asks? for|(?:is|are|keeps?) asking for|would like|promised|(?:would"
    r"|'d) be (?:good|great|useful"
    r"|wise) (?:to|if))\b"
)
# What they did not do is theirs, though somebody may wait for it.
_OF_OTHERS = re.compile(r"(?:they|he|she)\b(?!.*\b(?:me|us|my|our|we|i)\b)")
_UNDECIDED = re.compile(
    r"\bno (?:\w+ )?(?:decision|agreement|consensus|verdict|answer)(?: (?:yet|on|about|as to))\b|\bno decision\b"
    r"|\b(?:nobody|no one) (?:has |can )?(?:decided?|knows? (?:yet )?(?:how|whether|if|who|what|which))\b"
    r"|\bundecided\b|\b(?:open|unanswered|big) question\b|\bquestion (?:of (?:how|whether|who|what)|is (?:whether|how|who))"
    rf"|\bi (?:still )?wonder {_ASK}\b|\b(?:wondering|debating|pondering|weighing up|unsure|uncertain|torn"
    rf"|agonising|agonizing|arguing|dithering)(?: (?:about|over|as to|on))? (?:{_ASK}|between)\b"
    rf"|\b(?:still )?(?:don't|do not|doesn't) know(?: yet)? {_ASK}\b"
    rf"|\b(?:not sure|not certain|no idea|unclear|not clear|no clue|can't tell)(?: yet)? (?:about |of )?{_ASK}\b"
    r"|\b(?:can't|cannot|couldn't|can not|yet to|haven't|hasn't|not yet|never) (?:yet |quite |really )?(?:decide[d]?"
    r"|choose|chosen|make up (?:my|our) mind|made up (?:my|our) mind|agreed?(?! more)|settled? on|pick(?:ed)? (?:one|a)"
    r"|work(?:ed)? out (?:how|whether|who|what)|figured? out (?:how|whether|who|what))\b"
    r"|\b(?:torn between|in two minds|on the fence|up in the air|a toss-up|jury(?:'s| is)(?: still)? out|been dithering"
    r"|no (?:closer|nearer) to|sleep on it|to be (?:decided|confirmed|agreed|determined)|tbd|tbc)\b"
    rf"|\b(?:still|yet) to (?:decide|choose|settle|agree|figure out|work out)\b|^(?:still )?open(?: point| issue)?:"
)
_OPEN = re.compile(
    r"\boverdue\b|\b(?:still )?outstanding\b(?! (?:work|job|performance|meal|success|achievement))"
    r"|\bstill (?:missing|open|to be|no|not|nobody|waiting|haven't|hasn't|have not|has not|(?:sits|sitting|lies|lying)"
    r"|un\w+ed|needs|blocked|pending|stuck|blank|empty|broken)\b"
    r"|\bun(?:resolved|solved|finished|answered|done|paid|signed|written|opened|sent|read|booked|tested|fixed|filled"
    r"|touched|claimed|assigned|changed|reviewed|packed|planned|staffed|funded|documented|sorted)\b|\b(?:about|high) time\b"
    r"|\bremains? (?:open|to be|un\w+|missing|empty|a mystery|broken|\w+ed)\b|\bincomplete\b|\bawait(?:s|ing)\b|\bpending\b"
    r"|\bhalf[- ](?:done|finished|filled|built|written|painted|packed|empty|way through|complete)\b"
    r"|\bno (?:[\w'-]+ ){1,8}(?:yet|so far)\b|\bno (?:progress|movement|news|word|sign|reply|response|answer|sight) (?:on"
    r"|of|from|with|about|for|since|to)\b|\bno (?:\w+ ){1,3}has (?:gone|been|come|arrived)\b|\b(?:is|are) missing\b"
    r"|\bnothing(?:'s| has| is)? (?:been )?(?:booked|arranged|done|decided|settled|planned|signed|agreed|happened|moved"
    r"|changed|back|ordered|prepared|written|in (?:place|for))\b|\bbooked nothing\b|\bfound no\b|\b(?:we've|i've) no\b"
    rf"|\b(?:haven't|hasn't|have not|has not|'ve not|'s not)(?: (?:yet|even|been|ever|all|really|actually)){{1,2}} {_DONE}\b"
    r"|\b(?:haven't|hasn't|have not|has not) (?:managed|dared|bothered|found|finished|started|begun|sent|written|booked"
    r"|answered|replied|called|rung|paid|heard|touched|fixed|made|done|signed|told|spoken|looked|arrived|come|bought"
    r"|ordered|asked|filled|planned|set up|turned up|chased)\b"
    r"|\b(?:isn't|aren't|is not|are not|not)(?: yet| even)? (?!allowed|permitted|interested|surprised|impressed|bothered"
    rf"|worried|scared|married|amused|related|supposed|named|need|indeed|based|bad|red|sad){_DONE}\b"
    r"|\bnever (?:turned up|arrived|came|showed up|materialised|materialized|got (?:done|finished|fixed|sent|an answer))\b"
    r"|\bcan't wait (?:much|any)\b|\b(?:i'm|we're|^)waiting (?:for|on) (?:some|a |an |the |my |our )"
    r"|\b(?:still|been) (?:waiting|chasing|hunting|searching|looking) (?:for|on)?\b|\b(?:search|hunt|wait) (?:goes"
    r" on|continues|for)\b"
    rf"|\b(?:nobody|no one|none of us|neither of us)(?:'s| has| is| has yet)?(?: (?:yet|ever|even|really))? (?:{_DONE}"
    r"|working|looking|dares|wants to|seems to|took|came|volunteer\w*|wrote|responsible|in charge|owns|free)\b"
    r"|\b(?:back (?:at|to) square one|in limbo|on (?:the )?back burner|gathering dust|fall(?:s|en|ing)? through the cracks"
    r"|on hold|stalled|blocked|stuck (?:on|with|at|in|since|behind)|behind schedule|(?:keeps|kept) (?:slipping|sliding"
    r"|getting (?:pushed|postponed|delayed))|(?:slipped|pushed back|postponed) again|kicked? (?:it )?down the road"
    r"|(?:a|an)(?: \w+)? (?:email|letter|call|reply|decision|visit|review|check|answer) is (?:due|needed))\b"
)
_STILL_UNMET = re.compile(
    r"\bstill\b|\byet\b|\bso far\b|\b(?:haven't|hasn't|have not|has not|nobody has|no one has|nothing has)\b"
    r"|\bno (?:\w+ ){1,2}has\b|\b(?:is|are)n't\b|\bfar from\b|\boverdue\b|\boutstanding\b|\bputting off\b"
    r"|\bwaiting (?:for|on)\b|\b(?:won't|can't|cannot)\b|\bnot enough\b|\bnothing left\b|\bis empty\b|\bfinally\b"
    r"|\bnobody\b|\bno one\b|\bget nothing\b|\bevery day\b|\bagain\b|\bno (?:progress|closer|nearer)\b|\bnowhere near\b"
    r"|\bunpaid\b|\bnever (?:turned up|arrived|came)\b|\bsquare one\b|\b(?:keep|been) (?:putting|postponing|meaning)\b"
    r"|\bremains? un|\bdithering\b|\bgoes on\b"
)

# What only sounds like a goal: told of the past, denied, supposed, asked of the listener, or said to keep a talk going.
_NOT_MEANT = re.compile(
    r"\b(?:had to|(?:i|we|you|he|she|they) needed|wanted to|was going to|should have|should've|could have"
    r"|must have|must've|would have|'d have|had i|had we|used to|once (?:hoped|wanted|planned|dreamt|dreamed)"
    r"|(?:was|were) (?:trying|hoping|planning|meaning|aiming) to|stopped (?:trying|wanting|hoping)"
    r"|(?:gave|given) up (?:on )?(?:trying|wanting|hoping)|never needed|according to"
    r"|no need|needn't|shouldn't|(?:don't|doesn't|didn't|do not|does not|won't|wouldn't) (?:\w+ )?(?:need|want|have to"
    r"|intend|plan|mean|wish)|mustn't(?! forget)|no longer (?:need|want)|never wanted|you(?:'ll)? (?:should|must|need|have to"
    r"|ought|want)|(?:what|all|everything|anything|whatever) (?:i|we) (?:need|want|could want))\b"
)
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|unless|in case|as if|wherever|whatever|until)\b[^,;]*$")
_TALK = re.compile(
    r"\b(?:(?:have to|must|should|need to|want to|like to|got to|gotta|hope to|love to)(?: \w+ly)? (?:say|admit"
    r"|tell you"
    r"|confess|agree|know|thank|hear|ask you|mention|see (?:you|it|that|your|them)|go(?: now| to bed| home"
    r"| soon)?(?=[\s.,!]*$)|run(?=[\s.,!]*$)"
    r"|dash|sleep(?=[\s.,!]*$| in\b| until\b| late\b| more\b| well\b)|eat(?=[\s.,!]*$| (?:less|more)\b)"
    r"|drink (?:less|more)\b|go to (?:bed|sleep)|get going|nap|rest|relax|catch up|hang out|chat|talk (?:again"
    r"|soon|later"
    r"|more)|meet up"
    r"|grab (?:a|some)|get (?:some|a) (?:sleep|rest|coffee|food|lunch|drink|drinks|air|beer)|have (?:a|some"
    r"|another) (?:coffee|tea"
    r"|drink|drinks|break|lunch|beer|nap|snack|biscuit|cake)|take (?:a|another) (?:nap|break|walk|rest|shower)"
    r"|do (?:this|that|it) (?:again|more)"
    r"|be (?:honest|fun|nice|great|lovely|careful|there|back|off|going|able)|try (?:it|that|this|them|your)"
    r"|check (?:it|that) out"
    r"|join you|come (?:along|over|too|with)|watch (?:it|that)|visit (?:some ?time|one day|some day))"
    r"|(?:need|want|like|love) (?:a |an |some |another |more |my )?(?!to )(?:\w+ )?(?:coffee|tea|nap|sleep"
    r"|break|drink|beer|hug|snack|rest|shower"
    r"|holiday|vacation|weekend|bed|wine|chocolate|cake)\b|hope (?:you|that you|your|so|not|it|this|that|the"
    r"|all|everyone|everything|he|she|they)"
    r"|wish (?:you|i (?:was|were|could|had)|we (?:was|were|could|had)|it|him|her|them|there)|mean (?:it|that|,"
    r"|i|you|the|what|well)|(?:plan|mean|hope|wish|aim)(?=[\s.,!?]*$)"
    r"|(?:would|'d) (?:like|love)(?= (?:that|it|this|to,|to but)\b)|wonder (?:if|whether) (?:it|he|she|they"
    r"|that)\b|know what to (?:say|think|wear)|(?:some|any)(?:one|body) should (?:invent|write a book"
    r"|make a film)|some ?time(?:[.!\s]*$)|some ?day(?:[.!\s]*$)|one of these days)"
)
# A question that is asked of oneself, or of anybody who can help: it stays open until it is answered.
_ASKED_OF_ONESELF = re.compile(
    r"^(?:still )?(?:open|undecided|unclear|to be decided|tbd)\b[^?]{0,20}:|^(?:so,? |and |but |or )?(?:whether|(?:which|what"
    r"|how|where|when|who)(?: (?!do|does|did|is|are|was|were|will|would|can|could|should|shall|have|has|you|i|we|he|she"
    r"|they|it|about)[\w'-]+){0,6}?) to (?!say\b|do\b|think\b)\w+|\b(?:does|do|would|could|can|might) (?:any|some)(?:one|body)"
    r"(?: here| around| else)? (?:know (?:an?|of|where|how|who)|recommend|suggest|lend|help)\b"
    r"|^(?:so,? |and |but )?(?:should|shall) (?:i|we)\b[^?]{5,120}\bor\b"
    r"|\b(?:who(?:'s| is| will|'ll)?|when(?:'s| is| will)) (?:finally|actually|ever|going to)\b[^?]{0,20}\b(?:fix|pay|do"
    r"|take|write|sort|book|send)\b"
)

# Signs that something falls short: it fails, comes again, is only partly there, or hurts.
_TROUBLE = re.compile(
    r"\bagain\b|\bonce more\b|\bso far\b|\bas yet\b|\b(?:yet )?another (?:\w+ )?(?:night|day|week|month|year|morning|evening"
    r"|hour|hours|lost|missed|failed|late|round|weekend)\b|\bfor the \w+ (?:time|\w+ running|day|week|month)\b"
    r"|\bin a row\b|\b(?:\w+th|second|third) \w+ running\b|\bstill\b|\byet\b|\bonly (?:\w+ ){1,3}(?:of|are|managed|got|left"
    r"|so|made|in|done)\b|\b(?:couldn't|can't|cannot|could not|won't|wouldn't|unable to|failed to|fails to|didn't (?:work|come"
    r"|answer|arrive|get|make|manage|turn|reply|happen|help|have|show))\b|\b(?:haven't|hasn't|have not|has not|isn't|aren't"
    r"|wasn't|weren't|doesn't|don't)\b|\bneither\b|\bnot a single\b|\bnobody\b|\bno one\b|\bnothing\b|\bnone of\b"
    r"|\b(?:turn(?:ed)? away|gave up|giving up|chickened out|backed out|ran out|run out|cut off|fell (?:through|apart)|broke"
    r"|broken|leak\w*|crash\w*|failed|failing|fails|missed|lost|late|delayed|complain\w*|worse|spread|stuck|skipped|too"
    r"|instead of|without|unchanged|blank|empty|down to|half of|crept|grumbl\w*|wasted|forgot|hurts|guilty|nervous|ashamed"
    r"|wince\w*|awkward|embarrass\w*|frustrat\w*|annoy\w*|worried|worrying|in pain|aches?|aching|mess|chaos|nightmare"
    r"|expires?|hours? (?:on hold|lost|late)|on hold|days? (?:on|late|of waiting)|weeks? (?:on|late)|no)\b"
)
# What was trouble and is over.
_OVER = re.compile(r"\b(?:no longer|no more|not any ?more|no problem|no worries|finally (?:works?|fixed|done)|after all)\b")

# No goal is told without one of these: most sentences cost one look.
_WORTH_READING = re.compile(
    r"\b(?:need|want|have to|has to|have got|got to|gotta|must|should|ought|better|wish|hop(?:e|ing)|aim|intend|intention"
    r"|plan|mean|like|love|prefer|promise|owe|told|word|remind|forget|remember|note to|goal|dream|to[- ]?do|put off|putting"
    r"|still|demand|ask|decision|decide|question|wonder|know|sure|no\b|not\b|unclear|overdue|outstanding|trying|determined"
    r"|looking|hunt|search|yet\b|time\b|remain|nobody|nothing|none\b|never|lack|missing|set\b|keen|eager|rather|supposed"
    r"|wait|await|pending|something|said|tell|be (?:good|great|useful|wise|nice|a relief)|would|could|i'd|we'd|ambition|target"
    r"|objective|priority|mission|resol|list\b|agenda|plate\b|conscience|only\b|due\b|un[a-z]|half|incomplete|behind|stuck"
    r"|stalled|blocked|on hold|back\b|limbo|short|running|low on|too few|enough|insufficient|in (?:\w+ )?need|cr(?:y|ies)"
    r"|begging|nowhere|far from|a long|without|down to|can't|sick of|tired of|fed up|bugs|bothers|annoys|irks|nags|worries"
    r"|frustrates|driv|intolerable|weigh|prey|hang|torn|dither|in two|on the|up in|toss|jury|tb[dc]\b|postpon|delay|avoid"
    r"|dodg|dread|procrast|drag|keep|kept|slipp|swore|sworn|vow|pledg|commit|long\b|yearn|crave|itching|dying|striv|saving"
    r"|pushing|desperate|shall|one day|require|deserve|gather|fall|kick|debat|ponder|agonis|agoniz|argu|open\b|whether"
    r"|booked no|found no|any(?:one|body)|some(?:one|body)|after an?\b|on hook|it'd)|n't\b"
)

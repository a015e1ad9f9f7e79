"""How English says that somebody wants, owes, asks, promises or can't decide something; of things, see unmet.py.

Frames, not words of any subject. Each pattern is tried on one case-folded sentence of bounded length; none nests
repetition, so that no text is slow to read.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from everyword.knowledge.legacy.fold.unmet import MUST_CHANGE, NUMBER, QUESTION, UNMET, ways
from everyword.types.intents import IntentCategory

# Strength of what stands in a list of things to do, or is asked for by a day: nobody need weigh whether it is a goal.
LISTED = 0.8
OWN = 0.6  # of what the speaker must, wants or promised
OTHERS = 0.3  # of what somebody else wants or needs: worth little alone
# What is only said to be open, "no decision yet", "overdue": not evident by itself, even where it is said to last.
OPEN = 0.45
DOUBTED = 0.35  # of what sounds like a goal and is not likely one: worth something where it comes again


class Cue(NamedTuple):
    """What makes a sentence a goal: of which category, how strongly, and where."""

    category: IntentCategory
    strength: float
    place: int


def cue_of(said: str) -> Cue | None:
    """Find what makes a sentence a goal; None where it is none, or only sounds like one."""
    if QUESTION.search(said):
        if match := _ASKED_BY_A_DAY.search(said):
            return Cue(IntentCategory.TASK, LISTED, match.start())
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


def _cue(said: str) -> Cue | None:
    own = _own(said)
    if own is not None:
        return own
    if match := _UNDECIDED.search(said):
        return Cue(IntentCategory.QUESTION, OPEN, match.start())
    if match := MUST_CHANGE.search(said):
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
    if match := _LISTED.match(said):
        return Cue(IntentCategory.TASK, LISTED, match.end())
    if match := _SAID_OUTRIGHT.search(said):
        return Cue(IntentCategory(str(match.lastgroup)), OWN, match.start())
    lead = _TITLED.match(said) or _LEAD.match(said)
    begins = lead.end() if lead else 0
    if match := _NOTED.match(said, begins):
        return Cue(IntentCategory.WISH if match["wish"] else IntentCategory.TASK, OWN, begins)
    subjects = [(begins, begins), *(match.span() for match in islice(_SELF.finditer(said), _MOST_SUBJECTS))]
    for category, pattern in _OWN:
        for start, end in subjects:
            if pattern.match(said, end):
                return Cue(category, OWN, start)
    return None


# What one's own goals are told with: either right after "I" or "we", or where a note begins, which leaves these out ...

_LISTED = re.compile(r"(?:[-*•+]\s*)?(?:\[ ?\]|(?:to-?do|action item)s?:)\s+(?=\w)(?!none\b|nothing\b|done\b)")
_SELF = re.compile(r"\b(?:i|we)\b")
_LEAD = re.compile(r"(?:(?:and|but|so|also|still|really|finally|anyway),? )*")
# "Plan registered online: I sent ...": where a title stands before a tale, no note begins.
_TITLED = re.compile(
    r"(?:[\w'-]+ ){1,6}[\w'-]+: (?=(?:i|we|he|she|they|it|my|our|the|an?|at|as|after|because|since|with|when)\b)"
)
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
            r"|signed up) to\b(?! disagree| differ| an?\b| the\b| his\b| her\b| their\b)|(?:'ll| will) (?!be\b"
            r"|see\b|miss\b|never\b|not\b)[^,;]{3,80}? (?:by|before) (?!(?:i|we|the time)\b)"
            r"|(?:'ll| will) (?:call [a-z]+ back|get back to (?:you|him|her|them)|refund|reimburse)\b",
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
            r" with|use (?:an?|some|more|another|help)\b) (?!(?:a )?(?:coffee|drink|nap|hug|break|laugh"
            r"|beer))|\s(?:shall|will) (?:\w+ )?(?:see|learn|finish|get|have|make|be able to)\b"
            r"(?=.*\b(?:one day|some day)\b)"
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
        r"(?<!s )(?<!always )remind me (?!of\b|how\b|that\b|why\b|what\b)|don't (?:let me )?forget|(?<!i )remember to"
        r"|note to self|must remember|mustn't forget|can't forget",
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
_SAID_OUTRIGHT = ways(*(f"(?P<{category}>{'|'.join(said)})" for category, said in _OUTRIGHT.items()))
# How notes begin.
_NOTED = re.compile(
    rf"(?P<wish>(?:the )?{_PURPOSE}(?: for| this| is|:)|(?:wanted|seeking|in search of|desperate)\b(?: for|:| to| -))"
    r"|(?:it's |it is )?(?:about |high )?time (?:to|i|we|for|someone|somebody)\b|(?:[\w'-]+ ){0,2}(?:wish(?: ?list)?"
    r"|request|goal|aim|target|action point|need|requirement|blocker|blocked|to-?do|task|plan|objective|deadline"
    r"|outstanding|pending|on order|help wanted)s?(?: (?:for|from|of|on|this|next) [\w']+)?: (?!none\b|nothing\b"
    r"|no\b|done\b|yes\b)"
    r"|out of (?!curiosity|nowhere|the\b|town|office|bed|sight|interest|respect|habit|this\b)\w+|whoever (?:has|took"
    r"|is)\b|(?:another |second |third |new )?(?:complaint|request|query|inquiry|enquiry|reminder) (?:about|for|from"
    r"|re|regarding)\b|(?!(?:i|we|he|she|they|you|it|what|all)\b)[\w'-]+(?: [\w'-]+){0,3} (?<!\bi )(?<!\bwe )(?<!\bhe"
    r" )(?<!\bshe )(?<!\bthey )(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bnot )(?<!\bno )(?<!\blonger"
    r" )(?:needed|required|sought)(?= (?:for|on|in|at|by|to|urgently)\b|[.,;!]|$)|let's (?!postpone\b|cancel\b"
    r"|skip\b|drop\b|go\b|see\b|say\b|hope\b"
    r"|face\b|talk\b|chat\b|meet\b|eat\b|have\b|grab\b|not\b|just\b|be\b|call\b|keep\b|continue\b|make\b|stay\b|enjoy\b)\w+|(?:needed|required|missing|urgent"
    r"|action(?: items?)?|next (?:steps?|up)|follow[- ]up|reminder|to fix|to buy|to book|still to do|left to do"
    r"|jobs?(?: for| left)?|shopping list|priority|open(?: point| issue)?)\b[^:.]{0,30}:|(?:please )?(?:ring|call"
    r"|phone|email|book|buy|order|pay|renew|cancel|chase|return|collect|pick up|send|fix|clean|submit|file|register"
    r"|post|replace|repair|arrange)\b[^,;]{2,80}? (?:by|before|asap|tomorrow|this week|next week|on (?:mon|tues|wednes"
    r"|thurs|fri)day)\b"
)

# What is said of a thing or by others

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
_UNDECIDED = ways(
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
# What somebody asks of somebody: requests, demands, orders, reminders.
_ASKED = ways(
    r"(?:ask(?:ed|ing)|begs|begg(?:ed|ing)|plead(?:s|ed|ing)|press(?:es|ed|ing)?|push(?:es|ed|ing)?|lobb(?:y|ies|ied"
    r"|ying)|campaign(?:s|ed|ing)?|petition(?:s|ed|ing)?|appeal(?:s|ed|ing)?|appl(?:ies|ied|ying)|fil(?:es|ed|ing)"
    r"|rall(?:y|ies|ied|ying)|protest(?:s|ed|ing)?|fights?|fighting|fought|clamou?r(?:s|ed|ing)?|puts? in|search(?:es"
    r"|ing)?|hunt(?:s|ing)?|scour(?:s|ed|ing)?|scrambl(?:es|ed|ing)|call(?:ed|ing)|pray(?:s|ed|ing)?|march(?:es|ed"
    r"|ing)?|yearn(?:s|ed|ing)?|pleas?|requests?|bids?|applications?|demands?|signatures) for (?!granted\b|you\b|now\b"
    r"|sure\b|dinner\b)\w+",
    r"urg(?:es|ed|ing) (?!to\b)\w+",
    r"demand(?:s|ed|ing) (?:an?|the|that|to|more|their|her|his|its|better|fair|full|new|clear\w*|immediate)",
    r"under (?:pressure|orders|obligation) to|keeps? (?:asking|reminding|nagging|pushing|pressing|begging|complaining)",
    r"(?:race|races|racing|rush|rushes|scramble|scrambles|struggle|struggles|battle|battles|strive"
    r"|strives) to (?!the\b)\w+",
    rf"(?:give|gives|gave|given) (?:[\w']+ ){{0,4}}?{NUMBER} (?:days|weeks|months|hours) to \w+|requests? to (?!the\b"
    rf"|an?\b)\w+",
    r"insist(?:s|ed|ing)? (?:on|that)|seek(?:s|ing)? (?:an?|the|more|new|\w+s)|asked [^,;.]{2,40}? for (?!(?:advice"
    r"|directions|a drink|a dance)\b)\w+",
    r"(?:orders|ordered|tells|instructs|instructed|directs|obliges) [^,;.]{2,50}? to (?!the|an?|my|our|his|her"
    r"|their)\w+",
    r"(?:set|sets|give|gives|gave|given) [^,;.]{2,40} (?:deadline|limit|ultimatum)",
    r"(?:scour|comb|search)(?:es|s|ed|ing)? (?!(?:is|was|were|has|had)\b)[^,;.]{2,40}? for [a-z]\w*",
    r"call(?:s|ed|ing)? (?:up)?on [^,;.]{2,60}? to",
    r"(?:told|asked|asks|asking|wants|expects|reminded|reminds|begged|wanted) (?:me|us) to (?!say\b)",
    r"(?:asked|asks|asking|reminded|reminds|begged) (?:me|us) (?:for|about|of|again)",
    r"asked (?:whether|if) (?:some|any)(?:one|body)",
    r"asked (?:whether|if) (?:we|i) (?:could|can|might)",
    r"(?:asks|inquires|enquires|wonders) (?:again )?(?:when|whether|if)",
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
_PLEDGED = ways(
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
_OF_THINGS = (
    (IntentCategory.TASK, UNMET),
    (IntentCategory.PROMISE, _PLEDGED),
    (IntentCategory.TASK, _ASKED),
)
_COMPLAINS = ways(
    r"can't|cannot|unable to|complain(?:s|ed|ing)|reports?|reported|threaten(?:s|ed|ing)?|struggl(?:es|ed|ing)|annoyed"
    r"|angry|upset|dissatisfied|unhappy|frustrated"
)
# Whose wishes and complaints are somebody's work.
_SERVED = re.compile(
    r"(?:(?:the|a|an|one|our|my|same|this|that|another|several|many|some|most|both|two|three|four"
    r"|five) ){0,2}(?:\w+ )?(?:customer|client|user|caller|patient|guest|tenant|resident|reviewer|subscriber|passenger"
    r"|member|parent|student|reader|buyer|visitor|boss|manager|examiner|editor)s?\b"
)
# What only sounds like a goal: told of the past, denied, supposed, asked of the listener, or said to keep a talk going.
_NOT_MEANT = re.compile(
    r"\b(?=[\w'])(?:had to|(?:i|we|you|he|she|they) needed|wanted to|was going to|should(?:'ve| have)(?! (?:it|the|my"
    r"|our|an?|this|that|these|those|them|him|her|some|more|another)\b)|could have|must have|must've|would have"
    r"|'d have|had i|had we|used to|once (?:hoped|wanted|planned|dreamt|dreamed)|(?:was|were) (?:trying|hoping"
    r"|planning|meaning|aiming) to|stopped (?:trying|wanting|hoping)|(?:gave|given) up (?:on )?(?:trying|wanting"
    r"|hoping)|never needed|can't (?:make it|on|this|next|today|tomorrow|(?:join|attend))|according to"
    r"|(?:rather|prefer) not|had (?:been )?(?:waiting|hoping|looking|longing|asked"
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
_IN_GENERAL = ways(
    rf"needs (?:about |around |roughly |up to |at least |only |just )?{NUMBER} (?:to {NUMBER} )?(?:second|minute"
    rf"|hour)s?",
    r"(?<!\bi )(?<!\bwe )would (?:need|have to|want|require)",
    r"before (?:each |every |first )?use|in order to (?:work|function|live|survive|grow)|by (?:default|design"
    r"|definition)",
    r"as a rule|that(?:'s| is) (?:normal|expected|how it works)|says (?:the|our|my) (?:leaflet|manual|label|book|sign"
    r"|guide|handbook|rule)|(?:leaflet|manual|label|sign|guide|handbook|rule) (?:says|states|reads)|usually|once (?:a"
    r"|per|every) (?:day|week|month|year)|typically|and then (?!i\b|we\b)\w+s|in my (?:humble )?opinion|as they say"
    r"|like to say|used to say",
    r"(?:think|thinks|believe|believes|argue|argues|reckon|reckons) (?:that )?[^,;]{2,40}? (?:should|must|ought to)",
)
# ... and so is what came about, unless the words deny it.
_CAME_ABOUT = re.compile(
    r"\b(?=[\w'])(?:(?:went|came|gone|come) through|turned up|(?:was|were) (?:lifted|granted|found|met|heeded|answered"
    r"|honoured)|brought it|arrived|reopened|accepted|recovered|delivered|completed?|resolved|solved|closed|fixed"
    r"|repaired|merged|paid out|signed|confirmed|nothing left|all (?:good|set|done|in)|works? (?:now|well|again|fine"
    r"|like a charm)|and got|got (?:it|them|the|his|her|their|my|our)|received (?:it|them|all|the)|granted|called off"
    r"|scrapped|ruled out|dismissed|decided (?:against|not)|chose not|turned down|declined|happily|to celebrate"
    r"|thanks to|thank you|thanks)\b"
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
    r"|him|her|them|there)|mean (?:it|that|i|you|the|what|well)|mean(?=,)|(?:i|we|you|to) (?:plan|mean|hope|wish"
    r"|aim)(?=[\s.,!?]*$)|(?:would|'d) (?:like|love)(?= (?:that|it|this|to,|to but)\b)|wonder (?:if|whether) (?:it|he"
    r"|she|they|that)\b|waiting for (?:the |a |my )?(?:bus|train|tram|taxi|lift|rain|summer|spring|weekend)"
    r"|know what to (?:say|think|wear)|(?:some|any)(?:one|body) should (?:invent|write a book|make a film)"
    r"|some ?time(?:[.!\s]*$)|some ?day(?:[.!\s]*$)|one of these days)"
)
# What is asked of somebody, and by when: a question by its form alone. Without a time it is for this moment.
_ASKED_BY_A_DAY = re.compile(
    r"\b(?:can|could|would|will) (?:you|someone|somebody|anyone|one of you)(?: (?:please|kindly|also|maybe|possibly"
    r"|perhaps|just|all)){0,2} (?!be\b|have (?:time|been)\b|make it\b|come\b|join\b|know\b)[a-z]+ [^?]{2,120}?"
    r"\b(?:by|before|until|no later than) (?:the )?(?:end of|close of|eod|cob|\d|mon|tue|wed|thu|fri|sat|sun|jan|feb"
    r"|mar|apr|may\b|jun|jul|aug|sep|oct|nov|dec|tomorrow|tonight|next|noon|lunch)"
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

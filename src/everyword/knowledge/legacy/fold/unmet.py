"""How English says of a thing that it is lacking, late, held up, put off or going wrong, whoever sees to it.

Frames, not words of any subject. Each pattern is tried on one case-folded sentence of bounded length; none nests
repetition, so that no text is slow to read.
"""

from __future__ import annotations

import re


def says_unmet(said: str) -> bool:
    """Tell whether the words say that nothing came of it so far."""
    return _STILL_UNMET.search(said) is not None


def is_trouble(said: str) -> bool:
    """Tell whether a sentence says that something goes wrong, falls short or comes again: a sign of a goal."""
    words = _TROUBLES.intersection(_WORD.findall(said))
    if not words and not _FAILS.search(said):
        return False
    if words and words <= _CANCELLED and _CALLED_OFF.search(said) and not _FAILS.search(said):
        return False
    return not QUESTION.search(said) and not _OVER.search(said) and not is_mended(said)


def is_mended(said: str) -> bool:
    """Tell whether a sentence says that what went wrong is right again: "works again", "is back up", "fixed now"."""
    return _MENDED.search(said) is not None and not QUESTION.search(said) and not _NOT_MENDED.search(said)


def ways(*said: str) -> re.Pattern[str]:
    """Compile ways to say one thing, each of whole words; only where a word begins is any of them tried."""
    return re.compile(rf"\b(?=[\w'])(?:{'|'.join(said)})\b")


QUESTION = re.compile(r"\?[\"'”’)\s]*$")

# What is to be, is not there, or can't go on

_DONE = (  # participles; those in -ed are too many to name
    r"(?:\w+ed|done|written|begun|found|made|built|sent|paid|filled|taken|given|bought|brought|chosen|drawn|set|put"
    r"|cut|told|sold|met|heard|spoken|shown|seen to|dealt with|got|gotten|gone|come|rung|driven|grown|held|kept|left"
    r"|lent|read|run|spent|taught|won|broken|caught|bound|fed|hung|led|lit|proven|shut)"
)
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
MUST_CHANGE = re.compile(
    rf"(?:^|[,;:] |\band |\bso )(?:they|my|our|the|this|that|these|those|it)\b[^,;]{{0,50}}? (?:ha(?:s|ve)(?: got)? to"
    rf"|must|needs? to|ought to) {_CHANGE}\b"
)
NUMBER = (
    r"(?:\d[\d,.]{0,9}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|dozens|hundreds"
    r"|several|a few|a dozen)"
)
# What is not there, or not enough of it.
_LACKING = (
    r"lack(?:s|ing)?|for (?:want|lack) of|shortage of|short (?:of|on)|running (?:low|short|out(?! of time\b))|low on"
    r"|insufficient|understaffed|in (?:\w+ )?need of|cr(?:ies|ying|y) out for|begging for|overdue for|due for",
    r"could (?:really )?(?:do with|use) (?:an?|some|more|new|another|\w+ing)|could be better|screaming for"
    rf"|calls? for (?!{NUMBER} )\w+",
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
    rf"(?:{NUMBER}|many|lots|plenty|more) (?:[a-z]+s (?:down|short|behind|late|overdue)(?=[.,;!]|$| on\b)"
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
# What is said to be open.
_OPEN = (
    r"overdue|(?:still )?outstanding\b(?! (?:work|job|performance|meal|success|achievement))",
    r"still (?:missing|open|without|unable|lacks?|closed|down|behind|at large|shut|offline|to be|no|not|nobody|waiting"
    r"|haven't|hasn't|have not|has not|(?:sits|sitting|lies|lying)|un\w+ed|needs|blocked|pending|stuck|blank|empty"
    r"|broken)",
    r"(?<!\ban )un(?:resolved|solved|finished|answered|done|paid|signed|written|opened|sent|read|booked|tested|fixed"
    r"|filled|touched|claimed|assigned|changed|reviewed|packed|planned|staffed|funded|documented|sorted)",
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
    r"(?:is|are|was|were|'s) due (?:on|by|in|next|this|tomorrow|at|any)|(?<!not )due (?:(?:mon|tues|wednes|thurs|fri"
    r"|satur|sun)day|tomorrow|tonight|(?:on|by) (?:the )?\d)|(?<!\bas )(?<!\bthan )expected (?:on|by|in"
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
# What can't go on before something else comes.
_HELD_UP = (
    r"(?:won't|will not|can't|cannot|can not|couldn't|refuses? to|unable to|not allowed to"
    r"|isn't allowed to) [^,;.]{2,60}? (?:until|unless|as long as|if (?:i|we) don't|without (?:an?|the|my|our|that"
    r"|this|it|more"
    rf"|{NUMBER})|before (?!(?:noon|bed|breakfast|lunch|dinner|coffee|midnight)\b)\w+)",
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
    r"put(?:s|ting)? off (?!by)\w+|put (?:it|this|that|them) off|postponed|deferred|shelved|adjourned|rescheduled"
    r"|(?:tabled|paused|suspended|parked|frozen) (?:until|till|for now|indefinitely)|mothballed|carried over"
    r"|rolled over|held over|pushed (?:back|out)|pushes [^,;.]{2,50}? back",
    r"(?:moved|pushed|put|set) (?:[\w']+ ){1,6}back (?:to (?:the \d|next|late|early)|until|till|by|again|another|a)",
    r"(?:bumped|delayed|cancelled|canceled|slipped|moved|pushed|missed)(?: \w+)? (?:again|once more|yet again"
    r"|for the (?:second|third|fourth|fifth|sixth|\w+th) time|to next (?:week|month|quarter|year|spring|summer))",
)
# What is there in part, or was never heard of.
_PARTLY = (
    rf"it(?:'s| has) been (?:{NUMBER}|days|weeks|months|years|hours)(?: \w+)?(?=[.,;!]|$)",
    r"(?:has|have) been (?:down|out|off|offline|closed|broken|without|missing|dead|stuck|blocked|locked|unavailable"
    r"|waiting)(?: [\w']+){0,4}? (?:since|for)",
    r"(?:can't|cannot|couldn't|unable to) [^,;.]{2,40} since",
    r"(?:nobody|no one) (?:can|could|will) (?!find|know|notice|miss|beat|deny|believe"
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
    rf"(?:just|only|merely|barely|a mere) {NUMBER} (?:\w+ ){{0,2}}?(?:out )?of (?!us\b)",
    r"everything (?:except|but|apart from|save)|(?:all|every \w+) (?:except|but) (?:an?|the|one|my|our|for)",
    r"(?:every|all) (?:[\w-]+ ){1,3}(?:taken|full|gone|booked|occupied)|(?:fully|completely|all) booked"
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
    r"|far-off) dream|(?:fell|falls?|falling|fallen) short|a far cry from|ahead of (?:me|us)|much remains|(?:listed"
    r"|registered|in line|shortlisted) for|waiting list|on order|back-?ordered|wait(?:s|ing)? in vain",
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
UNMET = ways(*_PASSIVE, *_OPEN, *_LACKING, *_UNBEARABLE, *_PARTLY, *_HELD_UP, *_PUT_OFF)
_STILL_UNMET = ways(
    r"still|yet|so far|haven't|hasn't|have not|has not|nobody has|no one has|nothing has|no (?:\w+ ){1,2}has",
    r"(?:is|are)n't|far from|overdue|outstanding|putting off|waiting (?:for|on)|won't|can't|cannot|not enough",
    r"nothing left|is empty|finally|nobody\b(?!')|no one|get nothing|every day|again",
    r"no (?:progress|closer|nearer)|nowhere near|unpaid|never (?:turned up|arrived|came)|square one",
    r"(?:keep|been) (?:putting|postponing|meaning)|remains? un\w+|dithering|goes on",
    r"(?:forgot|forgotten|meant|failed) to|to no avail|none of|not (?:one|a single)|stuck|as yet|it's been",
    r"to go|remaining|unanswered|no (?:luck|reply|news|sign|word)",
)

# What goes wrong

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
    persistent vanished disappeared mislaid refuses refusing stubbornly nonetheless incorrect
    scared afraid sit sits unknown slipped slipping suspended ignores
    although despite unsuccessful unsuccessfully vacant inconclusive worsening worsened missing""".split()
)
_FAILS = ways(
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
    r"(?:got|was|were|been) (?:dropped|cut|axed|skipped|overlooked|forgotten)|locked (?:out|up)|at a loss"
    r"|pil(?:e|es|ed|ing) up|sold out|no (?:better|change|improvement|use)",
    rf"in (?:the )?(?:next )?{NUMBER} (?:days|weeks|hours)|(?:days|weeks|hours) (?:away|left|before|to go)",
    r"(?:has|have) (?:been (?:\w+ ){1,2}since|no (?!idea|doubt|problem|complaint|regret|objection|wish)\w+)",
    rf"{NUMBER} (?:(?:\w+ ){{1,2}}left|of {NUMBER})",
)
_WORD = re.compile(r"[a-z']+")
# What was trouble and is over.
_OVER = re.compile(
    r"\b(?:no longer|no more|not any ?more|no problem|no worries|finally (?:works?|fixed|done)|after all)\b"
)
_CANCELLED = frozenset(("cancelled", "canceled"))
# What is called off is nobody's any more; who cancels on somebody leaves them with it: "the plumber cancelled".
_CALLED_OFF = re.compile(r"(?:\b(?:is|are|was|were|been|got)|'s)(?: now| also| all)? cancell?ed\b")
_WRONG = (
    r"(?:error|problem|issue|bug|leak|pain|noise|smell|fever|ache|trouble|warning|mould|damp|cough|rash|outage"
    r"|bottleneck|backlog|swelling|ticket|incident)s?"
)
_MENDED = ways(
    r"(?:works?|working|worked|runs|running|loads|prints|connects|starts|boots|charges|responds)"
    r"(?: (?:fine|well|perfectly|properly|just fine))? again",
    r"(?:works?|working|runs|running|prints|connects)(?: (?:fine|well|perfectly|properly))? now",
    r"(?:is|are|was|were|been|got|it's|that's|'s)(?: now| finally| all| already)? (?:fixed|repaired|mended|solved"
    r"|resolved|sorted(?: out)?|restored|unblocked)|(?:fixed|solved|repaired|restored|unblocked) now|now (?:fixed"
    r"|solved|repaired|restored)",
    r"back (?:up|online|to normal|in action|on track|in service|up and running)|up and running",
    rf"{_WRONG} (?:is|are|has|have|was|were)(?: now| finally| all| been)? (?:gone|over|stopped|cleared|healed)",
    rf"{_WRONG} (?:fixed|solved|resolved)",
)
_NOT_MENDED = re.compile(
    r"\b(?:still|not|never|nobody|nothing|but|except|yet|almost|nearly|half|partly|until|unless|if|when|once|should|would"
    r"|could|will|must|needs?|hope|hopefully|before|without|supposed|wish|want|get|to be|only)\b|n't\b"
)

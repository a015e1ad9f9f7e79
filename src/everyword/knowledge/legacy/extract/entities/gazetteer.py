"""Names that are known everywhere: given names, countries and cities, companies and products.

Not to find all, but to tell what kind of thing a name is where the words around it do not say, and to trust a capital
at the start of a sentence. A name that is no name here is still found where its context shows it.
"""

from __future__ import annotations

from everyword.knowledge.legacy.extract.entities.nicknames import WITH_SHORT_FORMS
from everyword.types.graph import folded


def _listed(names: str) -> frozenset[str]:
    """Read names with commas between them."""
    return frozenset(folded(" ".join(name.split())) for name in names.split(","))


# Names that are also words, places or months: a capital alone is no proof.
NAME_WORDS = frozenset(
    """will rose may mark grace hope faith joy dawn summer autumn bill rob pat sue jack frank chase drew art
    gene christian victor sandy penny ginger ruby pearl amber jade iris ivy lily violet daisy olive angel guy dean
    earl duke prince king ray rich skip chip miles wade cliff glen heath dale forest reed lane page paris florence
    charlotte austin dallas savannah georgia virginia jordan chelsea brooklyn madison kent lincoln april june august
    holly hazel heather fern basil sage bay rock stone carol melody harmony crystal star sky sunny dick pip max liv
    val kit ant norm si dot cat art jay robin hunter mason taylor carter cooper tucker porter parker bishop royal
    major noble justice mercy charity patience prudence constance summer winter wren raven dove buddy rusty dusty
    rocky sandy happy lucky stormy misty windy flora willow laurel clay jasper opal gem di del rod barb bart mat don
    al nan rich sal vic""".split()
)

_GIVEN = frozenset(
    """aaliyah aarav abdul abdullah adam adele aditi aditya adriana adrian agnes ahmad ahmed aicha aiko aisha
    akira alan alana alba albert alberto alejandra alejandro alessandro alessandra alexei alfonso alice alicia alina
    aline alma alvaro amelia amina amir amit amy ana anaïs anders andreas andrei andres angelica anika anil anita
    anja anjali ann anna anne annika anouk anton antonio anya aria ariana ariel arjun arnold arturo asha ashley
    astrid asuka aurora ava ayesha aylin azra beatriz bianca birgit bjorn boris brenda brian bridget bruce bruno
    camila camille candice carla carlos carmen cecilia celine cesar chiara chidi chinedu chioma chloe christophe
    ciara clara claire clarissa claudia colin cristina cyril dalia damien daria darius deepak denise desmond dieter
    dimitri dmitri diego donna doris dylan edith eduardo efe eileen ekaterina elaine elena elias elif elisa elise
    ella ellen elsa emeka emil emre enrique eric erica erik erin ernesto esra esteban esther ethan eva fabio farah
    fatima fatma federico felipe felix fernando fiona francois franz gareth gary gavin geraldine gerda gertrud
    giulia gloria gonzalo graham greta guillermo gunther gustavo hadiya hana hanna hannah hans haruki hasan hassan
    hector heidi heinrich helen helena helga henrik hiro hiroshi hugo ibrahim ida ignacio igor ikram imani imran
    ines inga ingrid irene irina isaac isha ishaan ismail isaiah ivana jan jana janine jasmine javier jean jelena
    jens jerome jesus jin joao joaquin johan johanna johannes jorge josef juan juana juanita julie juliette jun
    jurgen justin kamal kamala karen karim karin karl karla katarina katja kavya keiko keith kelly kemal kenji
    kerstin kevin khalid kiran klaus kofi konstantin kristen kristina kumar kurt kwame lakshmi lars latifa latoya
    laura lauren laurent leila leon leonie leticia liam lidia lila lina linda ling linus lisa livia lorena lorenzo
    lotte luca lucia lucy ludmila luigi luis luisa luka luna lydia maeve mahmoud maja malik manfred manisha marco
    marcela marcelo marek mariam mariana marie marina mario marion marisol marta mateo mateusz mathias mathilde
    matteo maureen mauricio maya mehmet mei mercedes meryem mia miki mila milan milena minh mira miriam mohamed
    mohammad moira molly morgan mustafa nadia naomi natasha neha neil nia nicola nikhil nikita nina noah noemi noor
    nora norbert nuno nuria obinna olaf oleg olga omar orla osman otto pablo paola paolo pascal patrice paul paula
    paulina pauline pavel pedro pierre pilar piotr polina pooja prakash priya rafael rahul rajesh ralph ramon rania
    raquel rashid raul ravi reiko renata renate ricardo rita roberto rodrigo rohan roland roman rosa rosalie rukmini
    ruth ryan sabine sabrina sakura salma sanjay santiago sara saskia sato scott sean selim selma serena sergio
    shannon shanti sheila shirin shreya siddharth silvia sina siobhan sita sofia sofie soledad solveig sonia soren
    stefan stefania stella sunil sunita susana svetlana sven tabitha takeshi tamar tanja tanya tariq tatiana teresa
    thandi thiago thierry thor tiago tina tobias tomas tomasz tove tracy trevor ulrike ursula uwe vanessa vera
    vicente vijay vikram viktor vivian wanda wei wendy wojciech wolfgang xavier ximena yara yasmin yasmine yolanda
    yoko yousef youssef yuki yuri yusuf yvonne zainab zara zeynep zofia zuzana""".split()
)
GIVEN_NAMES = (_GIVEN | WITH_SHORT_FORMS) - NAME_WORDS

PLACES = _listed(
    """afghanistan, albania, algeria, andorra, angola, argentina, armenia, australia, austria, azerbaijan,
    bahrain, bangladesh, belarus, belgium, benin, bhutan, bolivia, bosnia, botswana, brazil, bulgaria, cambodia,
    cameroon, canada, chile, china, colombia, congo, costa rica, croatia, cuba, cyprus, czech republic, denmark,
    dominican republic, ecuador, egypt, el salvador, england, eritrea, estonia, ethiopia, fiji, finland, france,
    gambia, germany, ghana, greece, greenland, guatemala, guinea, haiti, honduras, hungary, iceland, india,
    indonesia, iran, iraq, ireland, israel, italy, ivory coast, jamaica, japan, kazakhstan, kenya, kosovo, kuwait,
    laos, latvia, lebanon, liberia, libya, lithuania, luxembourg, madagascar, malawi, malaysia, maldives, mali,
    malta, mauritius, mexico, moldova, monaco, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal,
    netherlands, new zealand, nicaragua, niger, nigeria, north korea, northern ireland, norway, oman, pakistan,
    palestine, panama, paraguay, peru, philippines, poland, portugal, puerto rico, qatar, romania, russia, rwanda,
    saudi arabia, scotland, senegal, serbia, sierra leone, singapore, slovakia, slovenia, somalia, south africa,
    south korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan, tanzania, thailand, tibet, togo,
    trinidad, tunisia, turkmenistan, uganda, ukraine, united kingdom, united states, uruguay, uzbekistan, venezuela,
    vietnam, wales, yemen, zambia, zimbabwe, uk, usa, uae, europe, asia, africa, antarctica, south america, north
    america, latin america, scandinavia, balkans, patagonia, aachen, aberdeen, abuja, accra, addis ababa, adelaide,
    aleppo, alexandria, algiers, almaty, amman, amsterdam, ankara, antalya, antwerp, athens, atlanta, auckland,
    augsburg, baghdad, baku, bali, baltimore, bangalore, bangkok, barcelona, basel, bath, beijing, beirut, belfast,
    belgrade, bergen, berlin, bern, bilbao, birmingham, bogotá, bogota, bologna, bonn, bordeaux, boston, braga,
    bratislava, bremen, brighton, brisbane, bristol, brno, bruges, brussels, bucharest, budapest, buenos aires,
    cairo, calgary, california, cambridge, canberra, cape town, cardiff, casablanca, chengdu, chennai, chicago,
    christchurch, cleveland, coimbra, cologne, colorado, copenhagen, cork, cornwall, crete, cusco, dakar, damascus,
    dar es salaam, delhi, denver, detroit, devon, dhaka, doha, dortmund, dresden, dubai, dublin, dubrovnik, dundee,
    durban, düsseldorf, dusseldorf, edinburgh, essen, exeter, faro, florida, frankfurt, freiburg, fukuoka, galway,
    gdansk, gdańsk, geneva, genoa, ghent, glasgow, gothenburg, granada, graz, guangzhou, hamburg, hanoi, hanover,
    havana, hawaii, heidelberg, helsinki, hiroshima, hong kong, houston, hyderabad, ibiza, innsbruck, istanbul,
    izmir, jakarta, jerusalem, johannesburg, kabul, karachi, kathmandu, kerala, khartoum, kigali, kinshasa, kolkata,
    krakow, kraków, kuala lumpur, kyiv, kyoto, lagos, lahore, las vegas, lausanne, leeds, leicester, leipzig, lille,
    lima, lisbon, liverpool, ljubljana, london, los angeles, luanda, lucerne, lund, lviv, lyon, madrid, maine,
    mallorca, malmö, malmo, manchester, manhattan, manila, mannheim, maputo, marrakech, marseille, massachusetts,
    mecca, medellín, medellin, melbourne, miami, michigan, milan, minneapolis, minnesota, minsk, montana,
    montevideo, montpellier, montreal, moscow, mumbai, munich, nagoya, nairobi, nantes, naples, nashville, new
    delhi, new orleans, new york, new york city, newcastle, nice, norwich, nottingham, nuremberg, oaxaca, odesa,
    ohio, oregon, osaka, oslo, ottawa, oxford, palermo, pennsylvania, perth, philadelphia, phoenix, pittsburgh,
    plymouth, porto, porto alegre, portland, prague, pune, quebec, quito, reykjavik, riga, rio, rio de janeiro,
    riyadh, rome, rotterdam, salzburg, san diego, san francisco, san jose, santiago de chile, santorini, sapporo,
    sarajevo, sardinia, seattle, seoul, seville, shanghai, sheffield, shenzhen, sicily, sofia, split, st louis,
    stavanger, stockholm, strasbourg, stuttgart, swansea, sydney, são paulo, sao paulo, taipei, tallinn, tampere,
    tartu, tashkent, tbilisi, tehran, tel aviv, tennessee, texas, thessaloniki, tirana, tokyo, toledo, toronto,
    toulouse, trieste, tromsø, trondheim, tunis, turin, tuscany, uppsala, utah, utrecht, valencia, vancouver,
    venice, vermont, vienna, vilnius, warsaw, washington, wellington, wrocław, yerevan, yokohama, york, yorkshire,
    zagreb, zaragoza, zurich, zürich, the hague, dallas, austin, alps, andes, himalayas, mediterranean, brooklyn,
    queens, bavaria, algarve, provence, normandy, andalusia, catalonia, silicon valley, middle east, lake district,
    georgia, virginia"""
)

ORGANISATIONS = _listed(
    """accenture, adidas, adobe, airbus, amazon, amd, anthropic, apple, at&t, barclays, basf, bayer, bbc,
    bloomberg, bmw, boeing, bosch, citibank, cnn, dell, deloitte, deutsche bank, dhl, disney, ebay, ericsson, fedex,
    ford, gitlab, goldman sachs, google, greenpeace, harvard, heineken, honda, hsbc, huawei, ibm, ikea, infosys,
    ing, intel, kpmg, lego, lenovo, lidl, lufthansa, mckinsey, meta, microsoft, mit, nasa, nato, nestlé, nestle,
    nhs, nike, nokia, novartis, nvidia, openai, oracle, panasonic, pfizer, philips, pwc, red cross, roche, rolls
    royce, ryanair, samsung, sap, shell, shopify, siemens, sony, stanford, starbucks, stripe, tata, tesco, thales,
    toyota, ucla, unesco, unicef, unilever, united nations, vodafone, volkswagen, volvo, walmart, yale, zalando,
    oxfam, interpol, aldi, target"""
)

PRODUCTS = _listed(
    """airbnb, airpods, alexa, android, ansible, apple watch, asana, aws, azure, bitbucket, bitcoin, blender,
    chatgpt, chrome, claude, confluence, cursor, datadog, discord, django, docker, dropbox, duolingo, elasticsearch,
    emacs, ethereum, excel, evernote, facebook, fastapi, figma, firefox, fitbit, flask, garmin, gemini, git, github,
    gmail, gopro, grafana, gradle, hubspot, instagram, ipad, iphone, jenkins, jira, kafka, kindle, kotlin,
    kubernetes, linkedin, linux, macbook, mailchimp, mariadb, miro, mongodb, mysql, neovim, netflix, netlify,
    nextjs, nintendo switch, notion, numpy, obsidian, outlook, pandas, peloton, photoshop, pixel, playstation,
    postgres, postgresql, powerpoint, prius, prometheus, pycharm, pytest, python, pytorch, rabbitmq, reddit, redis,
    salesforce, sharepoint, signal, siri, skype, slack, snapchat, snowflake, splunk, sqlite, spotify, squarespace,
    strava, supabase, swift, tableau, teams, telegram, tensorflow, terraform, tesla, tiktok, trello, twitch,
    twitter, typescript, uber, javascript, ubuntu, vercel, vim, visual studio, vs code, waze, whatsapp, wikipedia,
    windows, wordpress, xbox, xcode, youtube, zendesk, zoom, zotero, facetime, ableton, fender, gibson, vespa,
    brompton, ps5, roomba, thermomix, nespresso, tinder, steam, minecraft, zelda"""
)
# Names that are words too: at the start of a sentence, or behind an article, a capital is no proof.
WORDY = frozenset(
    """signal teams windows notion steam pixel swift excel outlook chrome blender cursor slack zoom discord git
    python flask obsidian miro snowflake gemini vim strava target shell meta apple oracle amazon nice bath split
    cork reading stripe ford intel nike phoenix granada bergen essen faro lima alps perth rust teams tinder""".split()
)
# Brands that people use as verbs: "Slack me", "just Google it", "we Zoomed".
BRAND_VERBS = frozenset(
    "google slack zoom uber photoshop facetime skype venmo airbnb whatsapp dm email text hoover xerox tweet".split()
)

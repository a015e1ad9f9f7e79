"""What projects have and are made with: things that statements are kept of, and names of common tools by what they are
for, so that a change of one is seen as a change."""

from __future__ import annotations

import re

_BY_TOPIC = {
    "database": "postgresql postgres mysql sqlite mongodb mongo oracle cockroachdb dynamodb cassandra duckdb redis",
    "queue": "kafka rabbitmq nats sqs celery pulsar",
    "language": "python rust golang java kotlin typescript javascript ruby elixir swift scala php c++ c# haskell",
    "framework": "react vue svelte angular django flask fastapi rails spring nextjs htmx",
    "cloud": "aws azure gcp hetzner heroku vercel cloudflare",
    "tracker": "jira linear trello asana github gitlab notion clickup",
    "test_runner": "pytest unittest jest vitest mocha junit",
    "editor": "vim neovim vscode emacs pycharm intellij zed",
    "chat": "slack teams discord mattermost zulip",
}
TOPICS = frozenset(_BY_TOPIC)
_TOPICS = {tool: topic for topic, tools in _BY_TOPIC.items() for tool in tools.split()}
# In small letters these are words like any other.
_PLAIN_WORDS = frozenset(
    "spring linear teams swift notion slack rust ruby zed rails jest oracle mocha flask react".split()
)
OF_A_PROJECT = re.compile(
    r"\b(?:api|server|service|database|project|budget|deadline|contract|password|code|port|endpoint|limit|version"
    r"|release|team|meeting|build|repo|repository|branch|token|key|url|domain|invoice|rent|salary|price|cost|fee|loan"
    r"|mortgage|flight|train|hotel|address|phone|number|size|account|subscription|office|course|exam|grant|lease"
    r"|insurance|appointment|interview|wedding|client|supplier|venue|ticket|order|recipe|app|website|company"
    r"|start-?up|product|model|dataset|cluster|pipeline|job|queue|bus|backup|staging|production|cache|config|wifi"
    r"|wi-fi|car|bike|laptop|painting|bill|tax|timeline|schedule|conference|workshop|launch|sprint|standup|retro"
    r"|offsite|licen[cs]e|warranty|policy|quota|threshold|timeout|rate|revenue|runway)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w+#]+")
_PURPOSE = re.compile(
    r"\b(?:for|as) (?:the |our |a |an |all |my )?(?P<purpose>[\w\s-]{2,40}?)(?:$|[.,;!]| instead| because| since"
    r"| from| until)",
    re.IGNORECASE,
)
_NOT_PURPOSES = re.compile(r"(?:now|the moment|good|sure|it|this|that|a while|\d)", re.IGNORECASE)


def topic_of(plain: str, value: str) -> str | None:
    """Name what a choice of a tool is about: "database", or "database:billing service" where its use was said."""
    chosen = next((topic for word in _WORD.findall(value) if (topic := _topic(word))), None)
    if chosen is None:
        return None
    purpose = _PURPOSE.search(plain)
    if purpose and not _NOT_PURPOSES.match(purpose["purpose"]):
        return f"{chosen}:{purpose['purpose'].lower().strip()}"
    return chosen


def _topic(word: str) -> str | None:
    topic = _TOPICS.get(word.lower())
    return None if topic and word in _PLAIN_WORDS else topic

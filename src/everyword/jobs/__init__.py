"""Work on a whole memory: settle, rebuild, verify, forget; the feed, subscriptions, webhooks and workers."""

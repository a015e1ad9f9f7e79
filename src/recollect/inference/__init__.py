"""Models behind small protocols: embedders and tokenizers, bundled, offline, or over HTTP."""

"""Encoders, rerankers, tokenizers and LLM clients behind small protocols."""

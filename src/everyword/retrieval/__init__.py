"""Answer questions: query analysis, candidates, fusion, reranking, context, answers."""

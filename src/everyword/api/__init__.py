"""The parts that `Memory` is put together from, one for each layer that users ask about."""

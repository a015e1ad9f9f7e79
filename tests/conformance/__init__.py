"""What every store must do, written once against store/protocol.py; a backend is a subclass (see test_sqlite.py)."""

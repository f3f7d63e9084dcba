from tests.integration.hasty import hasty, server

__all__ = ["hasty", "server"]

from tests.integration.hasty import closed, hasty, server

__all__ = ["closed", "hasty", "server"]

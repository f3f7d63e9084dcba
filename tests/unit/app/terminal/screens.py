from typing import Any

from rich.console import Console

from app.terminal.screen import Screen


def screen_of(width: int = 400) -> Screen:
    """Return the screen of a terminal this wide, without colours; that of a pipe if ``width`` is 0."""
    screen = Screen()
    if width:
        made: dict[str, Any] = {"force_terminal": True, "width": width, "color_system": None, "soft_wrap": True}
        made |= {"markup": False, "emoji": False}
        screen.out, screen.err, screen.live = Console(**made), Console(stderr=True, **made), True
    return screen

"""Named variants of Self-RAG: changed settings, written in one word on the command line."""

import re

from pydantic import BaseModel, ValidationError

from core.errors import RequestError
from run.context import Context, Limits, Services, Thresholds, Weights

USAGE = "write it as NAME:k=8,relevant=0.5"
GROUPS: dict[str, type[BaseModel]] = {"weights": Weights, "thresholds": Thresholds, "limits": Limits}
OWN = [key for key in Context.model_fields if key not in (*GROUPS, "filter")]
# Each setting's group, None for those of the context itself.
GROUP_OF: dict[str, str | None] = dict.fromkeys(OWN) | {
    key: group for group, model in GROUPS.items() for key in model.model_fields if key not in OWN
}


def variant(text: str, context: Context, services: Services) -> tuple[str, Context]:
    """Parse ``NAME:setting=value,…`` into a name and a context; other settings are taken from ``context``.

    Settings are those of `Context`, and of its weights, thresholds and limits. Raises `RequestError` for others.
    """
    name, _, settings = text.partition(":")
    if not re.fullmatch(r"[\w.+-]{1,60}", name):
        raise RequestError(f"The variant {text!r} has no name of at most 60 letters: {USAGE}.")
    values = services.completed(context).model_dump()
    for setting in filter(None, (one.strip() for one in settings.split(","))):
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not value:
            raise RequestError(f"The variant {name} has {setting!r} without a value: {USAGE}.")
        if key not in GROUP_OF:
            raise RequestError(f"The variant {name} sets {key}: the settings are {', '.join(GROUP_OF)}.")
        group = GROUP_OF[key]
        (values[group] if group else values)[key] = value
    try:
        return name, Context.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestError(f"The variant {name} has a wrong {first['loc'][-1]}: {first['msg']}.") from None

"""What all types of models.py have in common."""

from __future__ import annotations

import re
import types
from datetime import datetime, timezone
from typing import Any, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError


def camel(name: str) -> str:
    """Returns the name that a field has in JSON: subject_id is subjectId."""
    return re.sub(r"_(\w)", lambda m: m[1].upper(), name.rstrip("_"))


class Input(BaseModel):
    """What a request contains. A field that is not set is not sent."""

    model_config = ConfigDict(alias_generator=camel, populate_by_name=True, extra="forbid", use_attribute_docstrings=True)


class Answer(BaseModel):
    """What the server answers. Fields that this release of the client does not know are in `model_extra`."""

    model_config = ConfigDict(alias_generator=camel, populate_by_name=True, extra="allow", use_attribute_docstrings=True)

    @model_validator(mode="wrap")
    @classmethod
    def _fill(cls, data: Any, handler: ModelWrapValidatorHandler[Any], info: ValidationInfo) -> Any:
        """Gives fields that an older server does not send a zero value, if the context asks for it."""
        if not (isinstance(data, dict) and isinstance(info.context, Filling)):
            return handler(data)
        if info.context.whole and not data.keys() & {camel(name) for name in cls.model_fields}:
            raise PydanticCustomError("no_known_field", "none of the fields is known")  # another server answered
        info.context.whole = False
        absent = {
            camel(name): zero(field.annotation)
            for name, field in cls.model_fields.items()
            if field.is_required() and camel(name) not in data and name not in data
        }
        return handler(absent | data)


class Filling:
    """The context of a validation that fills in what is absent, at first of the answer as a whole."""

    whole = True


def zero(annotation: Any) -> Any:
    """Returns the zero value of a type: "" of str, None if it can be None."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        options = get_args(annotation)
        return None if type(None) in options else zero(options[0])
    if annotation is datetime:
        return datetime.min.replace(tzinfo=timezone.utc)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {}
    return (origin or annotation)() if callable(origin or annotation) else None


def read(adapter: TypeAdapter[Any], text: bytes) -> Any:
    """Reads JSON. An older server can leave out fields: these get zero values."""
    try:
        return adapter.validate_json(text)
    except ValidationError as e:
        if any(problem["type"] != "missing" for problem in e.errors(include_input=False, include_url=False)):
            raise
        return adapter.validate_json(text, context=Filling())

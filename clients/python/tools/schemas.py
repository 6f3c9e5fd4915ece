"""Prepares the schemas of openapi/v1.json for datamodel-code-generator, and names their types."""

from __future__ import annotations

import re
from typing import Any

from names import PARAMETERS, SPLIT, model_name, snake

Schema = dict[str, Any]

# What the server checks anyway: a client that also checked it would refuse what a newer server accepts.
CHECKS = {"pattern", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "maxProperties", "examples"}
CHECKS |= {"x-max-bytes", "additionalProperties"}

# Bodies that have no model, because their members are parameters of methods, unless another schema refers to them.
KEEP = {"NewDocument", "NewMemory"}


def python(text: str) -> str:
    """Returns a description with the values of Python: None for null."""
    return re.sub(r"\b(null|true|false)\b", lambda m: {"null": "None", "true": "True", "false": "False"}[m[1]], text)


def references(value: Any) -> set[str]:
    """Returns the names of the schemas that value refers to."""
    if isinstance(value, dict):
        found = set().union(*(references(v) for v in value.values())) if value else set()
        ref = value.get("$ref", "")
        return found | ({ref.rsplit("/", 1)[1]} if ref.startswith("#/components/schemas/") else set())
    if isinstance(value, list):
        return set().union(*(references(v) for v in value)) if value else set()
    return set()


def closure(names: set[str], schemas: dict[str, Schema]) -> set[str]:
    """Returns names and all schemas that they refer to."""
    todo, seen = list(names), set(names)
    while todo:
        new = references(schemas[todo.pop()]) - seen
        seen |= new
        todo += new
    return seen


def inputs(document: Schema) -> set[str]:
    """Returns the schemas of what requests contain."""
    bodies: set[str] = set()
    for methods in document["paths"].values():
        for operation in methods.values():
            bodies |= references(operation.get("requestBody", {}))
    return closure(bodies, document["components"]["schemas"])


def flattened(document: Schema) -> set[str]:
    """Returns the bodies whose members are only parameters of methods."""
    schemas = document["components"]["schemas"]
    referred = references(schemas)
    return {name for name in inputs(document) if name not in referred and name not in KEEP}


def item(schema: Schema) -> Schema:
    """Returns what an element of a list is, where the description also allows anything, so that one bad element fails alone."""
    options = schema.get("anyOf", [])
    if all(o.keys() - {"description"} for o in options):
        return schema
    return next(o for o in options if "$ref" in o)


def prepare(document: Schema) -> Schema:
    """Returns a document with the schemas that get a class, under their Python names."""
    schemas = document["components"]["schemas"]
    sent, left_out = inputs(document), flattened(document)

    def convert(value: Any, of_input: bool) -> Any:
        if isinstance(value, list):
            return [convert(v, of_input) for v in value]
        if not isinstance(value, dict):
            return value
        value = item(value) if "anyOf" in value else value
        if "$ref" in value:
            kept = {k: v for k, v in value.items() if k == "description"}
            return kept | {"$ref": "#/components/schemas/" + model_name(value["$ref"].rsplit("/", 1)[1])}
        out = {}
        for key, inner in value.items():
            if key == "additionalProperties" and isinstance(inner, dict):
                out[key] = convert(inner, of_input)
            elif key == "properties":
                out[key] = {name: convert(v, of_input) for name, v in inner.items()}
            elif key in CHECKS or key == "format" and inner != "date-time":
                continue
            elif key == "enum" and not of_input:
                continue  # a newer server can answer with another value
            else:
                out[key] = python(inner) if key == "description" else convert(inner, of_input)
        if out.get("anyOf") and {"type": "number"} in out["anyOf"] and {"type": "string"} in out["anyOf"]:
            out["anyOf"] = [{"type": "integer"}, *out["anyOf"]]  # a whole number stays one
        return out

    classes = {}
    for name, schema in schemas.items():
        if name in left_out:
            continue
        base = "keepsake._model.Input" if name in sent else "keepsake._model.Answer"
        for class_name, converted in split(name, convert(schema, name in sent)).items():
            classes[class_name] = converted | {"customBasePath": base}
    return {"openapi": "3.1.0", "info": {"title": "", "version": ""}, "paths": {}, "components": {"schemas": classes}}


def split(name: str, schema: Schema) -> dict[str, Schema]:
    """Returns the types of a schema by their names."""
    if name not in SPLIT:
        return {model_name(name): schema}
    return {
        part: schema | {"required": members, "properties": {m: schema["properties"][m] for m in members}}
        for part, members in SPLIT[name].items()
    }


def class_names(document: Schema) -> dict[str, str]:
    """Returns the schema of each class."""
    return {part: name for name in document["components"]["schemas"] for part in SPLIT.get(name, {model_name(name): ()})}


def annotation(schema: Schema) -> str:
    """Returns the type of a parameter in Python, without None."""
    if "$ref" in schema:
        return "models." + model_name(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        if item(schema) is not schema:
            return annotation(item(schema))
        return " | ".join(dict.fromkeys(annotation(o) for o in schema["anyOf"] if o != {"type": "null"}))
    if "enum" in schema:
        return f"Literal[{', '.join(repr(v) for v in schema['enum'] if v is not None)}]".replace("'", '"')
    kinds = schema.get("type", "any")
    kind = next(k for k in ([kinds] if isinstance(kinds, str) else kinds) if k != "null")
    if kind == "array":
        return f"Sequence[{annotation(schema['items'])}]"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return "Metadata" if inner else "Mapping[str, Any]"
    if kind == "string":
        return "datetime" if schema.get("format") == "date-time" else "str"
    return {"integer": "int", "number": "float", "boolean": "bool", "any": "Any"}[kind]


def nullable(schema: Schema) -> bool:
    """Reports whether null is a value."""
    return "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())


def parameter_name(member: str) -> str:
    """Returns the name of the parameter for a member of a body or a query."""
    return PARAMETERS.get(member) or snake(member)

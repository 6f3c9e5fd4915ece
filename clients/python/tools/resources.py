"""Writes the methods of the clients, and their reference, from the operations of openapi/v1.json."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import Any

from names import GROUPS, METHODS, UNCALLED, Method, methods_of, model_name
from schemas import annotation, nullable, parameter_name, python

Schema = dict[str, Any]

# Headers that no method sends: the server generates the first, and paths name the version. Nothing is stored to be validated,
# and the methods that could create with If-None-Match refuse what exists.
UNSENT = {"X-Request-Id", "Accept-Version", "If-None-Match"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method."""

    member: str  # in JSON, the path or the query
    place: str  # path, query, body or header
    type: str
    default: str  # in Python; empty: required
    doc: str
    positional: bool = False

    @property
    def name(self) -> str:
        return parameter_name(self.member)

    @property
    def declaration(self) -> str:
        return f"{self.name}: {self.type}" + (f" = {self.default}" if self.default else "")


@dataclass(frozen=True)
class Operation:
    """An operation, with the method that calls it."""

    id: str
    verb: str
    path: str
    description: Schema  # of openapi/v1.json
    method: Method
    parameters: list[Parameter]
    body_schema: str  # empty: none
    answer_schema: str  # empty: none
    document: Schema

    @property
    def answer(self) -> str:
        return self.method.answer or (model_name(self.answer_schema) if self.answer_schema else "")

    @property
    def keyed(self) -> bool:
        return any(p.member == "Idempotency-Key" for p in self.parameters)


def operations(document: Schema) -> list[Operation]:
    """Returns every method for every operation, in the order of names.py."""
    found = {
        operation["operationId"]: (verb.upper(), path, operation)
        for path, methods in document["paths"].items()
        for verb, operation in methods.items()
    }
    for name in (METHODS.keys() | UNCALLED.keys()) - found.keys():
        raise SystemExit(f"the API has no operation {name}: remove it from clients/python/tools/names.py")
    called = [name for name in METHODS if name in found]
    called += sorted(found.keys() - METHODS.keys() - UNCALLED.keys())
    for name in called:
        if not methods_of(name):
            raise SystemExit(f"{name} needs a line in METHODS in clients/python/tools/names.py")
    return [operation(document, name, *found[name], method) for name in called for method in methods_of(name)]


def operation(document: Schema, name: str, verb: str, path: str, described: Schema, method: Method) -> Operation:
    """Returns an operation with the parameters of its method."""
    body = described.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    body_schema = body.get("$ref", "").rsplit("/", 1)[-1] if method.kind != "import" else ""
    good = next(r for status, r in described["responses"].items() if status.startswith("2"))
    media = "application/x-ndjson" if method.kind == "export" else "application/json"
    answer = good.get("content", {}).get(media, {}).get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
    parameters = []
    for p in described.get("parameters", []):
        if "$ref" in p:
            p = document["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]]
        if p["name"] in UNSENT or p["name"] in method.leave_out:
            continue
        parameters.append(of_request(p))
    if body_schema:
        parameters += of_body(document["components"]["schemas"][body_schema], verb, method)
    return Operation(name, verb, path, described, method, parameters, body_schema, answer, document)


def of_request(p: Schema) -> Parameter:
    """Returns the parameter for one of the path, the query or the header."""
    doc = python(p.get("description", ""))
    if p["name"] == "If-Match":
        return Parameter("if_revision", "header", "int | None", "None", "Only do it if this is still the revision.")
    if p["name"] == "Idempotency-Key":
        doc = "A key that you stored before the call, so that you can repeat the call after a crash. Without it, the key is random."
        return Parameter("Idempotency-Key", "header", "str | None", "None", doc)
    if p["in"] == "path":
        kind = "int | str" if p["name"] == "n" else "str"
        return Parameter(p["name"], "path", kind, "", doc, positional=True)
    kind = annotation(p["schema"])
    return Parameter(
        p["name"], "query", kind if p.get("required") else kind + " | None", "" if p.get("required") else "None", doc
    )


def of_body(schema: Schema, verb: str, method: Method) -> list[Parameter]:
    """Returns the parameters for the members of a body."""
    found = []
    for member, inner in schema["properties"].items():
        if member in method.leave_out or member in method.fixed:
            continue
        kind, default = annotation(inner), ""
        required = member in schema.get("required", []) or (member in method.positional and member == "planId")
        if verb == "PATCH" and not required:
            kind, default = kind + (" | None" if nullable(inner) else "") + " | Unset", "UNSET"
        elif not required:
            kind, default = kind + " | None", "None"
        found.append(
            Parameter(member, "body", kind, default, python(inner.get("description", "")), member in method.positional)
        )
    order = {name: i for i, name in enumerate(method.positional)}
    return sorted(found, key=lambda p: (not p.positional, order.get(p.member, 0), bool(p.default)))


def signature(parameters: list[Parameter], extra: tuple[str, ...] = ()) -> str:
    """Returns the parameters of a method in Python."""
    positional = [p.declaration for p in parameters if p.positional]
    named = [p.declaration for p in sorted((p for p in parameters if not p.positional), key=lambda p: bool(p.default))]
    named += list(extra)
    return ", ".join(["self", *positional, *(["*", *named] if named else [])])


def request(op: Operation, query_fixed: tuple[tuple[str, str], ...] = ()) -> str:
    """Returns the value that describes a request, in Python."""
    path = re.sub(r"\{(\w+)\}", lambda m: "{quote(" + parameter_name(m[1]) + ")}", op.path)
    lines = [f'"{op.id}"', f'"{op.verb}"', ("f" if "{" in path else "") + f'"{path}"']
    query = [f'"{p.member}": {p.name},' for p in op.parameters if p.place == "query"]
    query += [f'"{name}": {value},' for name, value in query_fixed]
    if query:
        lines.append("query={\n" + "\n".join(query) + "\n}")
    if op.body_schema:
        body = [f'"{p.member}": {p.name},' for p in op.parameters if p.place == "body"]
        body += [f'"{member}": {value},' for member, value in op.method.fixed.items()]
        lines.append("body={  # " + op.body_schema + "\n" + "\n".join(body) + "\n}")
    if op.verb == "PATCH":
        lines.append("partial=True")
    if any(p.member == "if_revision" for p in op.parameters):
        lines.append("if_revision=if_revision")
    if op.keyed and op.method.kind != "import":
        condition = f" if not ({op.method.safe}) else NO_KEY" if op.method.safe else ""
        lines.append("key=Key(idempotency_key)" + condition)
    if op.method.safe:
        lines.append(f"safe={op.method.safe}")
    if op.method.once:
        lines.append("once=True")
    if op.method.within:
        lines.append(f"within={op.method.within}")
    if op.method.surface:
        lines.append("versioned=True")
    return "Request(" + ",\n".join(lines) + ")"


def docstring(op: Operation, parameters: list[Parameter], extra: tuple[tuple[str, str], ...] = (), summary: str = "") -> str:
    """Returns the documentation of a method."""
    described = op.description
    text = summary or op.method.doc
    if not text:
        text = described.get("summary", "").rstrip(".") + "."
        if more := described.get("description", ""):
            text += "\n\n" + more
    text = "\n".join(
        textwrap.fill(line, 112, break_long_words=False, break_on_hyphens=False) for line in python(text).split("\n")
    )
    rows = [(p.name, p.doc) for p in parameters if p.doc] + list(extra)
    if rows:
        text += "\n\nArgs:\n"
        text += "\n".join(
            textwrap.fill(
                f"{name}: {doc}",
                112,
                initial_indent="    ",
                subsequent_indent="        ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for name, doc in rows
        )
        text += "\n"
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return '"""' + text + '"""'


PROGRESS = ("progress: Callable[[int], None] | None = None",)
PROGRESS_DOC = (("progress", "Called after each part with the number of bytes so far."),)


@dataclass(frozen=True)
class Function:
    """A method in Python. The body is without indentation; await and async are added to it."""

    name: str
    signature: str
    returns: str
    doc: str
    body: str
    asynchronous: bool = True  # whether the method is a coroutine or an asynchronous iterator in the async client


def functions(op: Operation, awaits: str, iterator: str) -> list[Function]:
    """Returns the methods for an operation. awaits is "await " or empty, iterator is AsyncIterator or Iterator."""
    m, answer = op.method, f"models.{op.answer}" if op.answer else ""
    if m.kind == "import":
        source = Parameter("source", "body", "AsyncImportSource" if awaits else "ImportSource", "", IMPORT_DOC, True)
        sent = f"{request(op)}, source, {answer}, progress, idempotency_key"
        return [
            Function(
                m.name,
                signature([source, *op.parameters], PROGRESS),
                answer,
                docstring(op, [source, *op.parameters], PROGRESS_DOC),
                f"return {awaits}self._transport.import_lines({sent})",
            )
        ]
    if m.kind == "export":
        rest = op.parameters
        file = Parameter("file", "body", "BinaryIO", "", "Where the lines are written: a file that was opened with `wb`.", True)
        to = f"Write what `{m.name}` returns to a file, as one JSON object per line, and return the number of bytes."
        described = request(op)
        return [
            Function(
                m.name,
                signature(rest, PROGRESS),
                f"{iterator}[{answer}]",
                docstring(op, rest, PROGRESS_DOC),
                f"return self._transport.items({described}, {answer}, progress)",
                asynchronous=False,
            ),
            Function(
                m.name + "_to",
                signature([*[p for p in rest if p.positional], file, *[p for p in rest if not p.positional]], PROGRESS),
                "int",
                docstring(op, [file, *rest], PROGRESS_DOC, to),
                f"return {awaits}self._transport.save({described}, file, progress)",
            ),
        ]
    returns, body = answer or "None", f"{awaits}self._transport.send({request(op)}, {answer})"
    if not answer:
        body = f"{awaits}self._transport.run({request(op)})"
    if m.unwrap:
        inner = op.document["components"]["schemas"][op.answer_schema]["properties"][m.unwrap]
        returns = annotation(inner).replace("Sequence", "builtins.list")
        body = f"({body}).{m.unwrap}" if awaits else f"{body}.{m.unwrap}"
    found = [Function(m.name, signature(op.parameters), returns, docstring(op, op.parameters), "return " + body)]
    if m.each:
        found.append(each(op, iterator, awaits))
    if "text/csv" in op.description["responses"].get("200", {}).get("content", {}):
        rest = [p for p in op.parameters if p.member != "cursor"]
        without = Operation(op.id, op.verb, op.path, op.description, m, rest, "", "", op.document)
        found.append(
            Function(
                m.name + "_csv",
                signature(rest),
                "str",
                docstring(
                    op, [], (), f"Return what `{m.name}` returns as a table in CSV. `{m.name}` describes the parameters."
                ),
                f"return {awaits}self._transport.text({request(without, (('format', chr(34) + 'csv' + chr(34)),))})",
            )
        )
    return found


IMPORT_DOC = (
    "A file that was opened with `rb`, with one JSON object per line or a JSON array; or an iterable of lines, dictionaries or "
    "models. It can have any length: it is sent in parts of a few megabytes."
)


def each(op: Operation, iterator: str, awaits: str) -> Function:
    """Returns the iterator over all pages of a list."""
    schema = op.document["components"]["schemas"][op.answer_schema]
    member = "items" if "items" in schema["properties"] else "results"
    kind = annotation(schema["properties"][member]["items"])
    rest = [p for p in op.parameters if p.member != "cursor"]
    arguments = [p.name if p.positional else f"{p.name}={p.name}" for p in rest] + ["cursor=cursor"]
    loop = f"for item in page.{member}:\n        yield item"
    body = (
        "cursor: str | None = None\nwhile True:\n"
        f"    page = {awaits}self.{op.method.name}({', '.join(arguments)})\n"
        f"    {loop}\n"
        "    if page.next_cursor is None:\n        return\n"
        "    cursor = page.next_cursor"
    )
    text = (
        f"Iterate over what all pages of `{op.method.name}` contain, which describes the parameters. `limit` is the size of a page. "
        "A page is read when it is needed."
    )
    return Function(op.method.each, signature(rest), f"{iterator}[{kind}]", docstring(op, [], (), text), body)


ROOTS = {"": "ClientMethods", "ai": "AgentMethods", "backend": "BackendMethods"}


def grouped(document: Schema) -> dict[tuple[str, str], list[Operation]]:
    """Returns the operations by surface and group."""
    groups: dict[tuple[str, str], list[Operation]] = {}
    for op in operations(document):
        groups.setdefault((op.method.surface, op.method.group), []).append(op)
    return groups


def title(group: str) -> str:
    """Returns what a group is."""
    return GROUPS.get(group) or group.replace("_", " ").capitalize()


def class_name(group: str) -> str:
    """Returns the class of a group: api_keys is APIKeys."""
    return "".join({"api": "API"}.get(word, word.capitalize()) for word in group.split("_"))


def code(document: Schema) -> str:
    """Returns the module with the methods of the asynchronous clients."""
    parts = [CODE_HEAD]
    groups = grouped(document)
    for (surface, group), ops in sorted(groups.items(), key=lambda item: item[0][1] == ""):
        name = "Async" + (class_name(group) if group else ROOTS[surface])
        parts.append(f'\n\nclass {name}(AsyncGroup):\n    """{title(group)}."""\n')
        for op in ops:
            for f in functions(op, "await ", "AsyncIterator"):
                parts.append(textwrap.indent(rendered(f), "    "))
    root = [f"self.{group} = Async{class_name(group)}(transport)" for surface, group in groups if group and not surface]
    parts.append(CODE_END + textwrap.indent("\n".join(root), " " * 8) + "\n")
    return "\n".join(parts)


CODE_HEAD = '''
"""The methods of the clients."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, BinaryIO, Literal

from keepsake import models
from keepsake._async_transport import AsyncGroup, AsyncImportSource, AsyncTransport
from keepsake._request import NO_KEY, UNSET, Key, Metadata, Request, Unset, quote
'''

CODE_END = '''

class AsyncGroups(AsyncClientMethods):
    """The methods of the client, with the groups."""

    def __init__(self, transport: AsyncTransport) -> None:
        super().__init__(transport)
'''


def rendered(f: Function) -> str:
    """Returns a method as a text."""
    coroutine = "async " if f.asynchronous else ""
    doc = textwrap.indent(f.doc, "    ").lstrip()
    return f"\n{coroutine}def {f.name}({f.signature}) -> {f.returns}:\n    {doc}\n{textwrap.indent(f.body, '    ')}\n"


def reference(document: Schema) -> str:
    """Returns the page that lists every method."""
    lines = [
        "# Reference of the Python client",
        "",
        "Written by `clients/python/tools/generate.py` from `openapi/v1.json`. `AsyncClient`, `AsyncAgent` and `AsyncBackend` have the",
        "same methods: their calls are awaited, and their iterators are asynchronous. The fields of every type are documented in",
        "`keepsake.models`.",
    ]
    for (surface, group), ops in sorted(grouped(document).items(), key=lambda item: (item[0][0], item[0][1] != "", item[0][1])):
        heading = {"": title(group), "ai": "`Agent`", "backend": "`Backend`"}[surface]
        owner = {"": "client", "ai": "agent", "backend": "backend"}[surface] + (f".{group}" if group else "")
        lines += ["", f"## {heading}", ""]
        for op in ops:
            for f in functions(op, "", "Iterator"):
                shown = re.sub(r"^self(, )?", "", f.signature).replace("models.", "").replace("builtins.", "")
                lines += [f"### `{owner}.{f.name}`", "", "```python"]
                call = f"{owner}.{f.name}({shown}) -> {f.returns.replace('models.', '').replace('builtins.', '')}"
                lines += call_lines(call) + ["```", ""]
                lines += doc_lines(f.doc) + [f"`{op.verb} {op.path}`", ""]
    return "\n".join(lines).rstrip() + "\n"


def call_lines(call: str) -> list[str]:
    """Returns a signature, with one parameter a line if it is long."""
    if len(call) <= 110:
        return [call]
    head, rest = call.split("(", 1)
    inside, tail = rest.rsplit(") -> ", 1)
    depth, lines, start = 0, [], 0
    for i, c in enumerate(inside + ","):
        depth += {"[": 1, "]": -1}.get(c, 0)
        if c == "," and depth == 0:
            lines.append("    " + inside[start:i].strip() + ",")
            start = i + 1
    return [head + "(", *lines, ") -> " + tail]


def doc_lines(doc: str) -> list[str]:
    """Returns a docstring as Markdown: its arguments are a list."""
    text, _, arguments = doc.strip('"').partition("\n\nArgs:\n")
    rows = [re.sub(r"\s*\n\s+", " ", row) for row in re.split(r"\n    (?=\S)", arguments.strip())] if arguments else []
    return (
        [text, ""] + [f"- `{name}`: {what}" for name, _, what in (row.partition(": ") for row in rows)] + ([""] if rows else [])
    )

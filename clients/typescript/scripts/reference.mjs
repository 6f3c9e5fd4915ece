// Writes REFERENCE.md from the types in dist/esm: every class, method and type that the package exports. With --check, it writes
// nothing and fails if the file is not up to date. Build first.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = new URL("../", import.meta.url);
const entry = fileURLToPath(new URL("dist/esm/index.d.ts", root));
const program = ts.createProgram([entry], { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, strict: true, types: [], lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"] });
const checker = program.getTypeChecker();
const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(entry)));

const resolve = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
const docOf = (symbol) => ts.displayPartsToString(symbol.getDocumentationComment(checker)).replace(/\{@link (\w+)\}/g, "`$1`").trim();
const internal = (node) => ts.getJSDocTags(node).some((tag) => tag.tagName.text === "internal");
const code = (text) => "`" + text.replace(/\s+/g, " ").replace(/\bt\./g, "").replace(/;$/, "") + "`";

// signature returns a member as it is declared, without comments.
function signature(node) {
  const printer = ts.createPrinter({ removeComments: true });
  return printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
}

function members(node) {
  const lines = [];
  for (const member of node.members) {
    const name = member.name?.getText() ?? "constructor";
    if (name.startsWith("#") || name.startsWith("[") || internal(member) || ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) continue;
    if (name === "then" || name === "catch" || name === "finally" || (name === "name" && ts.isClassDeclaration(node))) continue;
    const symbol = member.name ? checker.getSymbolAtLocation(member.name) : undefined;
    const text = symbol ? docOf(symbol).replace(/\n+/g, " ") : "";
    lines.push(`- ${code(signature(member))}${text === "" ? "" : `: ${text}`}`);
  }
  return lines;
}

const classes = [];
const functions = [];
const interfaces = [];
const aliases = [];
for (const symbol of exported) {
  const of = resolve(symbol);
  const node = of.declarations?.[0];
  if (node === undefined) continue;
  const name = symbol.name;
  if (ts.isClassDeclaration(node)) classes.push([name, `### ${name}\n\n${docOf(of)}\n\n${members(node).join("\n")}\n`]);
  else if (ts.isFunctionDeclaration(node)) functions.push([name, `### ${name}\n\n${code(signature(node).replace(/^export declare /, ""))}\n\n${docOf(of)}\n`]);
  else if (ts.isInterfaceDeclaration(node)) interfaces.push([name, `### ${name}\n\n${docOf(of)}\n\n${members(node).join("\n")}\n`]);
  else if (ts.isTypeAliasDeclaration(node)) {
    const source = /\["(\w+)"\]|<"(\w+)">/.exec(node.type.getText());
    aliases.push([name, `| \`${name}\` | ${source ? `\`${source[1] ?? source[2]}\`` : code(node.type.getText()).replace(/\|/g, "\\|")} |`]);
  }
}
const sorted = (list) => list.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text).join("\n");
const first = ["Keepsake", "KeepsakeAgent", "KeepsakeBackend"];
const clients = first.map((name) => classes.find(([other]) => other === name)[1]).join("\n");
const text = `# Reference of @keepsake/client

Generated from the types of the package by \`make clients\`. Do not edit it.

## Clients

${clients}
## Classes

${sorted(classes.filter(([name]) => !first.includes(name)))}
## Functions

${sorted(functions)}
## Options and other interfaces

${sorted(interfaces)}
## Types of the API

Each is a schema of \`openapi/v1.json\`, or the query of an operation. Editors show their fields.

| Type | In openapi/v1.json |
|---|---|
${sorted(aliases)}
`;

const file = new URL("REFERENCE.md", root);
if ((await readFile(file, "utf8").catch(() => "")) !== text) {
  if (process.argv.includes("--check")) {
    console.error("clients/typescript/REFERENCE.md is not up to date: run make clients and commit the file");
    process.exitCode = 1;
  } else await writeFile(file, text);
}
